// Elements of any dtype as double, for comparing with plain arithmetic.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

#include "backends/cpu/direct_call.hpp"

namespace bp_test {

inline std::string dtype_name(uint32_t dtype) {
  static const char* const names[BP_NUM_DTYPES] = {
      "bool", "u8",   "i8",  "i16", "i32",       "i64",        "u16",       "u32",    "u64",
      "f16",  "bf16", "f32", "f64", "complex64", "complex128", "f8_e4m3fn", "f8_e5m2"};
  return names[dtype];
}

inline bool is_floating(uint32_t dtype) {
  return (dtype >= BP_F16 && dtype <= BP_F64) || dtype == BP_F8_E4M3FN || dtype == BP_F8_E5M2;
}
inline bool is_complex(uint32_t dtype) {
  return dtype == BP_COMPLEX64 || dtype == BP_COMPLEX128;
}
inline bool is_signed(uint32_t dtype) {
  return (dtype >= BP_I8 && dtype <= BP_I64) || is_floating(dtype) || is_complex(dtype);
}

// A small float from its parts, by arithmetic: nothing in common with how the plugin does it.
inline double decode_float(uint32_t bits, int exponent_bits, int mantissa_bits, bool has_inf) {
  const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const int top = (1 << exponent_bits) - 1, bias = top / 2;
  const int exponent = static_cast<int>(bits >> mantissa_bits) & top;
  const double sign = (bits >> (exponent_bits + mantissa_bits)) & 1 ? -1 : 1;
  if (exponent == top && has_inf) return mantissa == 0 ? sign * INFINITY : NAN;
  if (exponent == top && mantissa == (1u << mantissa_bits) - 1) return NAN;  // e4m3fn
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1u << mantissa_bits), exponent - bias - mantissa_bits);
}

// Not inlined: GCC would warn of the wide reads where it knows `at` to be a narrow variable.
[[gnu::noinline]] inline double decode(uint32_t dtype, const void* at) {
  const auto as = [at]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (dtype) {
    case BP_BOOL:
    case BP_U8: return as(uint8_t{});
    case BP_I8: return as(int8_t{});
    case BP_I16: return as(int16_t{});
    case BP_I32: return as(int32_t{});
    case BP_I64: return static_cast<double>(as(int64_t{}));
    case BP_U16: return as(uint16_t{});
    case BP_U32: return as(uint32_t{});
    case BP_U64: return static_cast<double>(as(uint64_t{}));
    case BP_F16: return decode_float(as(uint16_t{}), 5, 10, true);
    case BP_BF16: return decode_float(as(uint16_t{}), 8, 7, true);
    case BP_F8_E4M3FN: return decode_float(as(uint8_t{}), 4, 3, false);
    case BP_F8_E5M2: return decode_float(as(uint8_t{}), 5, 2, true);
    case BP_F32:
    case BP_COMPLEX64: return as(float{});  // the real part
    default: return as(double{});
  }
}

// Exact only for numbers that the dtype holds; the small floats are found by search.
inline void encode(uint32_t dtype, void* at, double number) {
  const auto as = [&]<class T>(T value) { std::memcpy(at, &value, sizeof value); };
  switch (dtype) {
    case BP_BOOL:
    case BP_U8: return as(static_cast<uint8_t>(number));
    case BP_I8: return as(static_cast<int8_t>(number));
    case BP_I16: return as(static_cast<int16_t>(number));
    case BP_I32: return as(static_cast<int32_t>(number));
    case BP_I64: return as(static_cast<int64_t>(number));
    case BP_U16: return as(static_cast<uint16_t>(number));
    case BP_U32: return as(static_cast<uint32_t>(number));
    case BP_U64: return as(static_cast<uint64_t>(number));
    case BP_F32: return as(static_cast<float>(number));
    case BP_F64: return as(number);
    case BP_BF16:
      return as(static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(number)) >> 16));
    case BP_F16: {
      int exponent = 0;
      const double part = std::frexp(std::fabs(number), &exponent);  // 0.5 <= part < 1
      const auto bits = number == 0 ? 0u
                                    : static_cast<uint32_t>((exponent + 14) << 10) +
                                          static_cast<uint32_t>(part * 2048) - 1024u;
      return as(static_cast<uint16_t>(bits | (std::signbit(number) ? 0x8000u : 0u)));
    }
    case BP_COMPLEX64: {
      const float parts[2] = {static_cast<float>(number), 0};
      std::memcpy(at, parts, sizeof parts);
      return;
    }
    case BP_COMPLEX128: {
      const double parts[2] = {number, 0};
      std::memcpy(at, parts, sizeof parts);
      return;
    }
    default: FAIL() << "encode of " << dtype_name(dtype);
  }
}

inline double get_number(Data& data, uint32_t dtype, int64_t element) {
  return decode(dtype, data.address(element));
}
inline void set_number(Data& data, uint32_t dtype, int64_t element, double number) {
  encode(dtype, data.address(element), number);
}

// The nearest bf16, to even, found by comparing both neighbours; any NaN is one.
inline uint16_t nearest_bf16(float number) {
  const auto bits = std::bit_cast<uint32_t>(number);
  const auto below = static_cast<uint16_t>(bits >> 16);  // nearer to zero
  if (std::isnan(number)) return static_cast<uint16_t>(below | 0x40u);
  const uint32_t rest = bits & 0xffffu;
  const bool up = rest > 0x8000u || (rest == 0x8000u && (below & 1u) != 0);
  return static_cast<uint16_t>(below + (up ? 1 : 0));
}
inline float wide_bf16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

}  // namespace bp_test
