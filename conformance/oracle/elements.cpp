#include "elements.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace oracle {
namespace {

// A floating format of at most 16 bits.
struct Small {
  int exponent_bits, fraction_bits;
  bool has_infinity;  // without: only the largest code is NaN, and what is too large becomes that
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  unsigned sign() const { return 1u << (exponent_bits + fraction_bits); }
  unsigned top() const { return ((1u << exponent_bits) - 1) << fraction_bits; }
};

Small small_format(bp::Dtype dtype) {
  if (dtype == bp::f16) return {5, 10, true};
  if (dtype == bp::bf16) return {8, 7, true};
  if (dtype == bp::f8_e5m2) return {5, 2, true};
  return {4, 3, false};
}

Real decode(Small format, unsigned code) {
  const bool negative = (code & format.sign()) != 0;
  const unsigned magnitude = code & (format.sign() - 1);
  const auto exponent = static_cast<int>(magnitude >> format.fraction_bits);
  const unsigned fraction = magnitude & ((1u << format.fraction_bits) - 1);
  Real value;
  if (format.has_infinity && magnitude >= format.top())
    value = fraction == 0 ? std::numeric_limits<Real>::infinity()
                          : std::numeric_limits<Real>::quiet_NaN();
  else if (!format.has_infinity && magnitude == format.sign() - 1)
    value = std::numeric_limits<Real>::quiet_NaN();
  else if (exponent == 0)
    value = std::ldexp(Real(fraction), 1 - format.bias() - format.fraction_bits);
  else
    value = std::ldexp(Real(fraction + (1u << format.fraction_bits)),
                       exponent - format.bias() - format.fraction_bits);
  return negative ? -value : value;
}

unsigned encode(Small format, Real value) {
  const unsigned sign = std::signbit(value) ? format.sign() : 0;
  const unsigned nan =
      format.has_infinity ? format.top() | (1u << (format.fraction_bits - 1)) : format.sign() - 1;
  if (std::isnan(value)) return sign | nan;
  const unsigned too_large = format.has_infinity ? format.top() : nan;
  if (std::isinf(value)) return sign | too_large;
  value = std::fabs(value);
  if (value == 0) return sign;
  // The power of two that the last bit of the fraction stands for.
  const int lowest = 1 - format.bias();
  const int exponent = std::max(std::ilogb(value), lowest);
  const Real steps = std::nearbyint(std::ldexp(value, format.fraction_bits - exponent));
  // Steps beyond a full fraction carry into the exponent by themselves.
  const Real code = steps + std::ldexp(Real(exponent - lowest), format.fraction_bits);
  return sign | (code >= Real(too_large) ? too_large : static_cast<unsigned>(code));
}

template <class T> T raw(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T> void put(void* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

Word load_integer(const void* at, bp::Dtype dtype) {
  switch (static_cast<std::uint32_t>(dtype)) {
    case BP_BOOL: return raw<std::uint8_t>(at) != 0;
    case BP_U8: return raw<std::uint8_t>(at);
    case BP_I8: return static_cast<Word>(std::int64_t{raw<std::int8_t>(at)});
    case BP_I16: return static_cast<Word>(std::int64_t{raw<std::int16_t>(at)});
    case BP_I32: return static_cast<Word>(std::int64_t{raw<std::int32_t>(at)});
    case BP_U16: return raw<std::uint16_t>(at);
    case BP_U32: return raw<std::uint32_t>(at);
    default: return raw<Word>(at);
  }
}

void store_integer(void* at, bp::Dtype dtype, Word value) {
  switch (static_cast<std::uint32_t>(dtype)) {
    case BP_BOOL: return put<std::uint8_t>(at, value != 0);
    case BP_U8:
    case BP_I8: return put(at, static_cast<std::uint8_t>(value));
    case BP_I16:
    case BP_U16: return put(at, static_cast<std::uint16_t>(value));
    case BP_I32:
    case BP_U32: return put(at, static_cast<std::uint32_t>(value));
    default: return put(at, value);
  }
}

// As a cast has it: what fits no integer becomes the smallest i32, cut to the width, for types of up to 16 bits and i32,
// and the smallest i64 for u32 and i64; u64 takes what is below 2^64.
Word to_integer(Real value, bp::Dtype dtype) {
  if (dtype == bp::boolean) return value != 0;
  const bool is_narrow = dtype == bp::u8 || dtype == bp::i8 || dtype == bp::i16 ||
                         dtype == bp::u16 || dtype == bp::i32;
  const Real whole = std::trunc(value);
  if (is_narrow)
    return whole >= -0x1p31L && whole < 0x1p31L ? static_cast<Word>(static_cast<Index>(whole))
                                                : static_cast<Word>(Index{INT32_MIN});
  if (dtype == bp::u64 && whole >= 0x1p63L && whole < 0x1p64L) return static_cast<Word>(whole);
  return whole >= -0x1p63L && whole < 0x1p63L
             ? static_cast<Word>(static_cast<Index>(whole))
             : static_cast<Word>(std::numeric_limits<Index>::min());
}

}  // namespace

template <> Real load<Real>(const void* at, bp::Dtype dtype) {
  switch (static_cast<std::uint32_t>(dtype)) {
    case BP_F32: return raw<float>(at);
    case BP_F64: return raw<double>(at);
    case BP_COMPLEX64: return raw<float>(at);
    case BP_COMPLEX128: return raw<double>(at);
    case BP_F16:
    case BP_BF16: return decode(small_format(dtype), raw<std::uint16_t>(at));
    case BP_F8_E4M3FN:
    case BP_F8_E5M2: return decode(small_format(dtype), raw<std::uint8_t>(at));
    case BP_U64: return Real(raw<Word>(at));
    default: return Real(static_cast<Index>(load_integer(at, dtype)));
  }
}

template <> void store<Real>(void* at, bp::Dtype dtype, Real value) {
  switch (static_cast<std::uint32_t>(dtype)) {
    case BP_F32: return put(at, static_cast<float>(value));
    case BP_F64: return put(at, static_cast<double>(value));
    case BP_COMPLEX64: return put(at, std::complex<float>(static_cast<float>(value)));
    case BP_COMPLEX128: return put(at, std::complex<double>(static_cast<double>(value)));
    case BP_F16:
    case BP_BF16: return put(at, static_cast<std::uint16_t>(encode(small_format(dtype), value)));
    case BP_F8_E4M3FN:
    case BP_F8_E5M2: return put(at, static_cast<std::uint8_t>(encode(small_format(dtype), value)));
    default: return store_integer(at, dtype, to_integer(value, dtype));
  }
}

Indices places(bp::Ints shape, bp::Ints strides) {
  Indices found{0};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    Indices next;
    next.reserve(found.size() * static_cast<std::size_t>(shape[d]));
    for (const Index base : found)
      for (Index i = 0; i < shape[d]; ++i) next.push_back(base + i * strides[d]);
    found = std::move(next);
  }
  return found;
}

template <> double load<double>(const void* at, bp::Dtype dtype) {
  return static_cast<double>(load<Real>(at, dtype));
}
template <> Word load<Word>(const void* at, bp::Dtype dtype) {
  return is_integer(dtype) ? load_integer(at, dtype) : to_integer(load<Real>(at, dtype), bp::i64);
}
template <> Complex load<Complex>(const void* at, bp::Dtype dtype) {
  if (dtype == bp::complex64) return Complex(raw<std::complex<float>>(at));
  if (dtype == bp::complex128) return Complex(raw<std::complex<double>>(at));
  return load<Real>(at, dtype);
}

template <> void store<double>(void* at, bp::Dtype dtype, double value) {
  store<Real>(at, dtype, value);
}
template <> void store<Word>(void* at, bp::Dtype dtype, Word value) {
  if (is_integer(dtype))
    store_integer(at, dtype, value);
  else
    store<Real>(at, dtype, Real(static_cast<Index>(value)));
}
template <> void store<Complex>(void* at, bp::Dtype dtype, Complex value) {
  if (dtype == bp::complex64)
    put(at, std::complex<float>(value));
  else if (dtype == bp::complex128)
    put(at, std::complex<double>(value));
  else if (dtype == bp::boolean)
    put<std::uint8_t>(at, value.real() != 0 || value.imag() != 0);
  else
    store<Real>(at, dtype, value.real());
}

template <> Real number<Real>(const bp::Scalar& value) {
  return value.is_integer() ? Real(value.to_int()) : Real(value.to_double());
}
template <> double number<double>(const bp::Scalar& value) {
  return static_cast<double>(number<Real>(value));
}
template <> Word number<Word>(const bp::Scalar& value) {
  return value.is_integer() ? static_cast<Word>(value.to_int())
                            : to_integer(value.to_double(), bp::i64);
}
template <> Complex number<Complex>(const bp::Scalar& value) {
  return {number<Real>(value), Real(value.imaginary())};
}

Line along(bp::Ints shape, Index dim) {
  Line line;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto at = static_cast<Index>(d);
    (at < dim ? line.outer : at == dim ? line.size : line.inner) *= shape[d];
  }
  return line;
}

Groups groups_of(bp::Ints shape, const std::optional<bp::Ints>& dims) {
  std::vector<Index> strides(shape.size());
  Groups groups;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (!dims || std::ranges::find(*dims, static_cast<Index>(d)) != dims->end()) continue;
    strides[d] = groups.count;
    groups.count *= shape[d];
  }
  groups.of = places(shape, {strides.data(), strides.size()});
  return groups;
}

}  // namespace oracle
