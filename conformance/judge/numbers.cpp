#include "judge/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <backplane/tensor/float_formats.hpp>

namespace bp::conform {
namespace {

template <class T, class Convert>
void convert(const void* bytes, std::size_t count, double* out, Convert to_double) {
  const auto* from = static_cast<const unsigned char*>(bytes);
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    out[i] = static_cast<double>(to_double(value));
  }
}
template <class T> void convert(const void* bytes, std::size_t count, double* out) {
  convert<T>(bytes, count, out, [](T value) { return value; });
}

}  // namespace

double FloatingFormat::unit_roundoff() const {
  return std::ldexp(1.0, -digits);
}
double FloatingFormat::smallest_normal() const {
  return std::ldexp(1.0, lowest_exponent);
}
double FloatingFormat::smallest() const {
  return std::ldexp(1.0, lowest_exponent - digits + 1);
}
double FloatingFormat::overflow() const {
  return highest_exponent >= 1023 ? HUGE_VAL : std::ldexp(1.0, highest_exponent + 1);
}
double FloatingFormat::ulp(double value) const {
  if (!std::isfinite(value) || value == 0) return smallest();
  const int exponent = std::clamp(std::ilogb(value), lowest_exponent, highest_exponent);
  return std::ldexp(1.0, exponent - digits + 1);
}

FloatingFormat format_of(Dtype dtype) {
  switch (dtype) {
    case f16: return {11, -14, 15};
    case bf16: return {8, -126, 127};
    case f64:
    case complex128: return {53, -1022, 1023};
    case f8_e4m3fn: return {4, -6, 8};
    case f8_e5m2: return {3, -14, 15};
    default: return {24, -126, 127};
  }
}
FloatingFormat compute_format(Dtype dtype) {
  return format_of(dtype == f16 || dtype == bf16 ? f32 : dtype);
}

Dtype wide_dtype(Dtype dtype) {
  if (is_complex(dtype)) return complex128;
  return has_fractions(dtype) ? f64 : dtype;
}

void to_doubles(const void* bytes, std::size_t count, Dtype dtype, double* out) {
  switch (dtype) {
    case boolean: return convert<std::uint8_t>(bytes, count, out, [](auto v) { return v != 0; });
    case u8: return convert<std::uint8_t>(bytes, count, out);
    case i8: return convert<std::int8_t>(bytes, count, out);
    case i16: return convert<std::int16_t>(bytes, count, out);
    case i32: return convert<std::int32_t>(bytes, count, out);
    case i64: return convert<std::int64_t>(bytes, count, out);
    case u16: return convert<std::uint16_t>(bytes, count, out);
    case u32: return convert<std::uint32_t>(bytes, count, out);
    case u64: return convert<std::uint64_t>(bytes, count, out);
    case f16: return convert<std::uint16_t>(bytes, count, out, f16_to_float);
    case bf16: return convert<std::uint16_t>(bytes, count, out, bf16_to_float);
    case f32: return convert<float>(bytes, count, out);
    case f64: return convert<double>(bytes, count, out);
    case complex64: return convert<float>(bytes, 2 * count, out);
    case complex128: return convert<double>(bytes, 2 * count, out);
    case f8_e4m3fn: return convert<std::uint8_t>(bytes, count, out, f8_e4m3fn_to_float);
    case f8_e5m2: return convert<std::uint8_t>(bytes, count, out, f8_e5m2_to_float);
  }
}
std::vector<double> to_doubles(const void* bytes, std::size_t count, Dtype dtype) {
  std::vector<double> values(count * parts_of(dtype));
  to_doubles(bytes, count, dtype, values.data());
  return values;
}

double rounded_to(double value, Dtype dtype) {
  const FloatingFormat format = format_of(dtype);
  if (!std::isfinite(value) || value == 0 || format.digits == 53) return value;
  const double step = format.ulp(value);
  const double result = std::nearbyint(value / step) * step;  // both exact: step is a power of two
  return std::fabs(result) >= format.overflow() ? std::copysign(HUGE_VAL, value) : result;
}

}  // namespace bp::conform
