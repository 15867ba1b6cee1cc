// The small floating types as bits: exact to float, rounded to nearest even from it.
#pragma once

#include <bit>
#include <cstdint>

namespace bp {

// IEEE 754 with fewer bits. Without infinity (fp8 e4m3fn) only the largest code is NaN, and what
// would be infinite is NaN.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr std::uint32_t sign_bit() const { return 1u << (exponent_bits + mantissa_bits); }
  // The first code, sign apart, that is not a finite number.
  constexpr std::uint32_t first_special() const {
    const std::uint32_t top = ((1u << exponent_bits) - 1) << mantissa_bits;
    return has_infinity ? top : top | ((1u << mantissa_bits) - 1);
  }
  constexpr std::uint32_t nan() const {
    return has_infinity ? first_special() | 1u << (mantissa_bits - 1) : first_special();
  }
};

inline constexpr FloatFormat f16_format{5, 10, true};
inline constexpr FloatFormat bf16_format{8, 7, true};
inline constexpr FloatFormat f8_e4m3fn_format{4, 3, false};
inline constexpr FloatFormat f8_e5m2_format{5, 2, true};

constexpr float decode_float(FloatFormat format, std::uint32_t code) {
  const std::uint32_t sign = (code & format.sign_bit()) != 0 ? 0x80000000u : 0u;
  std::uint32_t magnitude = code & (format.sign_bit() - 1);
  if (magnitude >= format.first_special()) {
    const bool is_infinite = format.has_infinity && magnitude == format.first_special();
    return std::bit_cast<float>(sign | (is_infinite ? 0x7f800000u : 0x7fc00000u));
  }
  const int shift = 23 - format.mantissa_bits;
  if (format.bias() == 127) return std::bit_cast<float>(sign | magnitude << shift);
  int exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  if (exponent == 0) {  // zero, or a subnormal that float holds as a normal number
    if (magnitude == 0) return std::bit_cast<float>(sign);
    const int missing = format.mantissa_bits + 1 - std::bit_width(magnitude);
    magnitude <<= missing;
    exponent = 1 - missing;
  }
  const std::uint32_t mantissa = magnitude & ((1u << format.mantissa_bits) - 1);
  const auto biased = static_cast<std::uint32_t>(exponent - format.bias() + 127);
  return std::bit_cast<float>(sign | biased << 23 | mantissa << shift);
}

// NaN stays NaN, with its sign.
constexpr std::uint32_t encode_float(FloatFormat format, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 31) * format.sign_bit();
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | format.nan();
  const std::uint32_t biased = magnitude >> 23;
  const std::uint32_t mantissa = magnitude & 0x7fffffu;
  // float's own subnormals have the exponent of its smallest normal numbers.
  const int exponent = biased == 0 ? -126 : static_cast<int>(biased) - 127;
  const std::uint32_t significand = biased == 0 ? mantissa : mantissa | 0x800000u;
  const int lowest = 1 - format.bias();  // the exponent of the format's subnormals
  const int below = exponent < lowest ? lowest - exponent : 0;
  const int shift = 23 - format.mantissa_bits + below;
  if (shift > 24) return sign;  // less than half of the smallest subnormal
  const std::uint32_t half_less_one = (1u << (shift - 1)) - 1;
  const std::uint32_t rounded = (significand + half_less_one + (significand >> shift & 1)) >> shift;
  // Adding the significand with its hidden bit raises the exponent by one, and rounding up to the
  // next power of two by one more.
  const std::uint32_t code =
      (below == 0 ? static_cast<std::uint32_t>(exponent - lowest) << format.mantissa_bits : 0u) +
      rounded;
  return sign | (code < format.first_special() ? code : format.first_special());
}

constexpr float f16_to_float(std::uint16_t code) {
  return decode_float(f16_format, code);
}
constexpr float bf16_to_float(std::uint16_t code) {
  return std::bit_cast<float>(std::uint32_t{code} << 16);
}
constexpr float f8_e4m3fn_to_float(std::uint8_t code) {
  return decode_float(f8_e4m3fn_format, code);
}
constexpr float f8_e5m2_to_float(std::uint8_t code) {
  return decode_float(f8_e5m2_format, code);
}

constexpr std::uint16_t float_to_f16(float value) {
  return static_cast<std::uint16_t>(encode_float(f16_format, value));
}
constexpr std::uint16_t float_to_bf16(float value) {
  return static_cast<std::uint16_t>(encode_float(bf16_format, value));
}
constexpr std::uint8_t float_to_f8_e4m3fn(float value) {
  return static_cast<std::uint8_t>(encode_float(f8_e4m3fn_format, value));
}
constexpr std::uint8_t float_to_f8_e5m2(float value) {
  return static_cast<std::uint8_t>(encode_float(f8_e5m2_format, value));
}

}  // namespace bp
