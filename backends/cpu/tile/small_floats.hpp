// The 8-bit and 16-bit floats from and to f32, one at a time; to nearest even.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "tensor_view.hpp"

namespace bp::cpu::tile {

inline float f32_from_f16(uint16_t bits) {
  return float_from_f16(bits);
}
inline uint16_t f16_from_f32(float value) {
  return f16_from(value);
}

// e5m2 is the upper half of f16.
inline float f32_from_f8_e5m2(uint8_t bits) {
  return float_from_f16(static_cast<uint16_t>(bits << 8));
}

// Of a float with `mantissa_bits` and an exponent bias of `bias`: sign, exponent and mantissa in 8 bits,
// as if there were no upper end.
inline uint32_t round_to_f8(float value, int mantissa_bits, int bias) {
  const uint32_t bits = std::bit_cast<uint32_t>(value) & 0x7fffffffu;
  const int exponent = static_cast<int>(bits >> 23) - 127;
  const int lowest = 1 - bias;  // of normal numbers
  if (exponent < lowest) {      // subnormal: a whole number of the smallest steps
    return static_cast<uint32_t>(
        std::nearbyint(std::ldexp(std::fabs(value), bias - 1 + mantissa_bits)));
  }
  const int cut = 23 - mantissa_bits;
  const uint32_t rounded = bits + ((1u << (cut - 1)) - 1) + ((bits >> cut) & 1u);
  return (rounded >> cut) - (static_cast<uint32_t>(127 - bias) << mantissa_bits);
}

inline uint8_t f8_sign(float value) {
  return std::signbit(value) ? 0x80 : 0;
}

inline uint8_t f8_e5m2_from_f32(float value) {
  if (std::isnan(value)) return f8_sign(value) | 0x7f;
  const uint32_t rounded = std::isinf(value) ? 0x7cu : round_to_f8(value, 2, 15);
  return static_cast<uint8_t>(f8_sign(value) | (rounded < 0x7cu ? rounded : 0x7cu));
}

inline uint8_t f8_e4m3fn_from_f32(float value) {
  if (std::isnan(value) || std::isinf(value)) return f8_sign(value) | 0x7f;
  const uint32_t rounded = round_to_f8(value, 3, 7);
  return static_cast<uint8_t>(f8_sign(value) | (rounded < 0x7fu ? rounded : 0x7fu));
}

inline float f32_from_f8_e4m3fn(uint8_t bits) {
  const int exponent = (bits >> 3) & 15, mantissa = bits & 7;
  float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                  : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  if ((bits & 0x7f) == 0x7f) magnitude = NAN;
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

}  // namespace bp::cpu::tile
