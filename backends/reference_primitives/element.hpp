// An element of any dtype: its bytes on the device, and the C++ number that a kernel computes with.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <backplane/plugin.hpp>

#include "memory.hpp"

namespace reference {

// ---- What lies in memory -------------------------------------------------------------------------

// A floating number in few bits: IEEE 754's rules, or fp8 e4m3fn's, which has no infinity and one NaN.
template <class Bits, int exponent_bits, int mantissa_bits, bool has_infinity = true>
struct SmallFloat {
  Bits bits;

  SmallFloat() = default;

  // Rounds to nearest, ties to even, once: from any number, which long double has.
  explicit SmallFloat(long double value) : bits(std::signbit(value) ? sign : 0) {
    bits = static_cast<Bits>(bits | magnitude_of(std::abs(value)));
  }

  operator float() const {
    const int magnitude = bits & (sign - 1), exponent = magnitude >> mantissa_bits;
    const int mantissa = magnitude & (hidden - 1);
    float value = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), lowest - mantissa_bits)
                                : std::ldexp(static_cast<float>(mantissa | hidden),
                                             exponent - 1 + lowest - mantissa_bits);
    if (magnitude >= special) value = std::numeric_limits<float>::infinity();
    if (magnitude > special || (magnitude == special && !has_infinity))
      value = std::numeric_limits<float>::quiet_NaN();
    return std::copysign(value, bits & sign ? -1.0f : 1.0f);
  }

 private:
  static constexpr int sign = 1 << (exponent_bits + mantissa_bits), hidden = 1 << mantissa_bits;
  static constexpr int lowest = 2 - (1 << (exponent_bits - 1));  // the smallest exponent
  // The first magnitude that is not a finite number: infinity, or e4m3fn's NaN.
  static constexpr int special = has_infinity ? sign - hidden : sign - 1;
  static constexpr int nan = has_infinity ? special | hidden >> 1 : special;

  static int magnitude_of(long double value) {
    if (std::isnan(value)) return nan;
    if (std::isinf(value)) return special;
    const int exponent = value == 0 ? lowest : std::max(std::ilogb(value), lowest);
    const long double places = std::nearbyint(std::ldexp(value, mantissa_bits - exponent));
    // The hidden bit among the places raises the exponent by one, and so does rounding up to a power of two.
    return std::min((exponent - lowest) * hidden + static_cast<int>(places), special);
  }
};

using Half = SmallFloat<uint16_t, 5, 10>;
using BFloat16 = SmallFloat<uint16_t, 8, 7>;
using Float8E4M3fn = SmallFloat<uint8_t, 4, 3, false>;
using Float8E5M2 = SmallFloat<uint8_t, 5, 2>;

// A byte, since C++'s bool must not hold what uninitialized memory may.
struct Truth {
  uint8_t byte;

  Truth() = default;
  explicit Truth(bool value) : byte(value) {}
  operator bool() const { return byte != 0; }
};

template <class T> struct Tag {};

// Calls f(Tag<T>) with the type of the dtype's elements.
template <class F> auto with_element_type(bp::Dtype dtype, F f) {
  switch (static_cast<uint32_t>(dtype)) {
    case BP_BOOL: return f(Tag<Truth>{});
    case BP_U8: return f(Tag<uint8_t>{});
    case BP_I8: return f(Tag<int8_t>{});
    case BP_I16: return f(Tag<int16_t>{});
    case BP_I32: return f(Tag<int32_t>{});
    case BP_I64: return f(Tag<int64_t>{});
    case BP_U16: return f(Tag<uint16_t>{});
    case BP_U32: return f(Tag<uint32_t>{});
    case BP_U64: return f(Tag<uint64_t>{});
    case BP_F16: return f(Tag<Half>{});
    case BP_BF16: return f(Tag<BFloat16>{});
    case BP_F32: return f(Tag<float>{});
    case BP_COMPLEX64: return f(Tag<std::complex<float>>{});
    case BP_COMPLEX128: return f(Tag<std::complex<double>>{});
    case BP_F8_E4M3FN: return f(Tag<Float8E4M3fn>{});
    case BP_F8_E5M2: return f(Tag<Float8E5M2>{});
    default: return f(Tag<double>{});
  }
}

// ---- What kernels compute with -------------------------------------------------------------------

template <class T> inline constexpr bool is_complex = false;
template <class T> inline constexpr bool is_complex<std::complex<T>> = true;

template <class T>
inline constexpr bool is_number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

// Calls f(Tag<T>) with the type that a step of an expression is computed in: integers in 64 bits (see
// Expression for their own width), floats of up to 32 bits in float.
template <class F> auto with_step_type(bp::Dtype dtype, F f) {
  if (dtype == bp::complex64) return f(Tag<std::complex<float>>{});
  if (dtype == bp::complex128) return f(Tag<std::complex<double>>{});
  if (dtype == bp::f64) return f(Tag<double>{});
  if (bp::floating.holds(dtype) || dtype == bp::f8_e4m3fn || dtype == bp::f8_e5m2)
    return f(Tag<float>{});
  const bool is_unsigned = (bp::DtypeSet(bp::u8) | bp::u16 | bp::u32 | bp::u64).holds(dtype);
  return is_unsigned ? f(Tag<uint64_t>{}) : f(Tag<int64_t>{});
}

// The same for sums and what else goes over many elements: wider, so that what rounding loses does not add up.
template <class F> auto with_sum_type(bp::Dtype dtype, F f) {
  if (dtype == bp::complex64) return f(Tag<std::complex<double>>{});
  if (dtype == bp::complex128) return f(Tag<std::complex<long double>>{});
  if (dtype == bp::f64) return f(Tag<long double>{});
  if (bp::floating.holds(dtype)) return f(Tag<double>{});
  return with_step_type(dtype, f);
}

// Toward zero. What fits no integer becomes the smallest one, first of 32 bits and then cut for types of up to
// that width, as processors and the cpu backend have it.
template <class To> To truncated(double value) {
  using Middle =
      std::conditional_t<(sizeof(To) < 4 || std::is_same_v<To, int32_t>), int32_t, int64_t>;
  if (std::is_same_v<To, uint64_t> && value >= 0x1p63)
    return value < 0x1p64 ? static_cast<To>(value) : To{};
  constexpr double limit = -static_cast<double>(std::numeric_limits<Middle>::min());
  const bool fits = value >= -limit && value < limit;
  return static_cast<To>(fits ? static_cast<Middle>(value) : std::numeric_limits<Middle>::min());
}

// As `cast` does: nonzero is true, and a complex number loses its imaginary part.
template <class To, class From> To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<To, Truth>) {
    return Truth(value != From{});
  } else if constexpr (is_complex<From>) {
    if constexpr (is_complex<To>)
      return To(value);
    else
      return convert<To>(value.real());
  } else if constexpr (std::is_same_v<From, Truth>) {
    return convert<To>(static_cast<uint8_t>(value.byte != 0));
  } else if constexpr (!is_number<From>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (is_complex<To>) {
    return To(convert<typename To::value_type>(value));
  } else if constexpr (!is_number<To>) {
    return To(static_cast<long double>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return truncated<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <class T> T number_as(bp::Scalar number) {
  if (number.is_integer()) return convert<T>(number.to_int());
  if (number.is_complex())
    return convert<T>(std::complex<double>(number.to_double(), number.imaginary()));
  return convert<T>(number.to_double());
}

// ---- Between the two -----------------------------------------------------------------------------

// The device's bytes are masked one by one, so that an element is unmasked as it is read and nothing else is
// touched: kernels on other streams may be at work on its neighbours.
template <class T> T read(const uint8_t* at, bp::Dtype dtype) {
  return with_element_type(dtype, [at]<class Element>(Tag<Element>) {
    Element element;
    copy_masked(reinterpret_cast<uint8_t*>(&element), at, sizeof element);
    return convert<T>(element);
  });
}

template <class T> void write(uint8_t* at, bp::Dtype dtype, T value) {
  with_element_type(dtype, [at, value]<class Element>(Tag<Element>) {
    const Element element = convert<Element>(value);
    copy_masked(at, reinterpret_cast<const uint8_t*>(&element), sizeof element);
  });
}

}  // namespace reference
