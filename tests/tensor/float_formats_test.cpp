#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

#include <backplane/tensor/float_formats.hpp>

namespace bp {
namespace {

struct Named {
  const char* name;
  FloatFormat format;
};
constexpr Named formats[] = {{"f16", f16_format},
                             {"bf16", bf16_format},
                             {"f8_e4m3fn", f8_e4m3fn_format},
                             {"f8_e5m2", f8_e5m2_format}};

std::uint32_t num_codes(FloatFormat format) {
  return 2 * format.sign_bit();
}

// The standard's definition, in words that share nothing with the code under test.
double by_definition(FloatFormat format, std::uint32_t code) {
  const int fraction = int(code % (1u << format.mantissa_bits));
  const int exponent = int(code / (1u << format.mantissa_bits) % (1u << format.exponent_bits));
  const double sign = code / format.sign_bit() % 2 != 0 ? -1.0 : 1.0;
  const double one = std::ldexp(1.0, format.mantissa_bits);
  const int top = (1 << format.exponent_bits) - 1;
  if (format.has_infinity && exponent == top) return fraction == 0 ? sign * INFINITY : std::nan("");
  if (!format.has_infinity && exponent == top && fraction + 1 == int(one)) return std::nan("");
  if (exponent == 0) return sign * std::ldexp(fraction / one, 1 - format.bias());
  return sign * std::ldexp(1.0 + fraction / one, exponent - format.bias());
}

TEST(float_formats, decode_every_code_as_the_standard_says) {
  for (const auto& [name, format] : formats)
    for (std::uint32_t code = 0; code < num_codes(format); ++code) {
      const double expected = by_definition(format, code);
      const float decoded = decode_float(format, code);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(decoded)) << name << " " << code;
      } else {
        ASSERT_EQ(double(decoded), expected) << name << " " << code;
        ASSERT_EQ(std::signbit(decoded), std::signbit(expected)) << name << " " << code;
      }
    }
}

TEST(float_formats, encode_every_decoded_code_as_itself) {
  for (const auto& [name, format] : formats)
    for (std::uint32_t code = 0; code < num_codes(format); ++code) {
      const float value = decode_float(format, code);
      const std::uint32_t back = encode_float(format, value);
      if (std::isnan(value)) {
        ASSERT_TRUE(std::isnan(decode_float(format, back))) << name << " " << code;
      } else {
        ASSERT_EQ(back, code) << name;
      }
    }
}

// Between two neighbours: below the middle down, above it up, in the middle to the even code. The
// neighbour of the largest number is what would come next if exponents went on.
TEST(float_formats, round_to_nearest_even_between_all_neighbours) {
  for (const auto& [name, format] : formats)
    for (std::uint32_t code = 0; code < format.first_special(); ++code) {
      const double low = by_definition(format, code);
      const bool is_last = code + 1 == format.first_special();
      const double high =
          is_last ? 2 * low - by_definition(format, code - 1) : by_definition(format, code + 1);
      const double middle = (low + high) / 2;
      if (middle > std::numeric_limits<float>::max() || float(middle) != middle) continue;
      const auto exact = static_cast<float>(middle);
      ASSERT_EQ(encode_float(format, std::nextafter(exact, 0.0f)), code) << name;
      ASSERT_EQ(encode_float(format, std::nextafter(exact, INFINITY)), code + 1) << name;
      ASSERT_EQ(encode_float(format, exact), code + code % 2) << name;
      ASSERT_EQ(encode_float(format, -exact), format.sign_bit() + code + code % 2) << name;
    }
}

TEST(float_formats, turn_what_is_too_large_into_infinity_or_nan) {
  for (const auto& [name, format] : formats)
    for (float value : {INFINITY, std::numeric_limits<float>::max()}) {
      const float decoded = decode_float(format, encode_float(format, value));
      EXPECT_TRUE(format.has_infinity ? std::isinf(decoded) : std::isnan(decoded)) << name;
      EXPECT_TRUE(std::signbit(decode_float(format, encode_float(format, -value)))) << name;
    }
  EXPECT_EQ(float_to_f8_e4m3fn(464.0f), 0x7e);
  EXPECT_EQ(float_to_f8_e4m3fn(465.0f), 0x7f);
  EXPECT_EQ(float_to_f16(65519.0f), 0x7bff);
  EXPECT_EQ(float_to_f16(65520.0f), 0x7c00);
}

TEST(float_formats, keep_the_sign_of_zero_and_underflow) {
  for (const auto& [name, format] : formats) {
    EXPECT_EQ(encode_float(format, 0.0f), 0u) << name;
    EXPECT_EQ(encode_float(format, -0.0f), format.sign_bit()) << name;
    EXPECT_EQ(encode_float(format, -std::numeric_limits<float>::denorm_min()), format.sign_bit())
        << name;
  }
}

TEST(float_formats, agree_with_the_nearest_of_neighbours_at_random) {
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isfinite(value)) continue;
    const std::uint32_t code = encode_float(f16_format, value) & 0x7fff;
    if (code == 0 || code >= f16_format.first_special()) continue;
    const double error = std::abs(std::abs(double(value)) - by_definition(f16_format, code));
    for (std::uint32_t other : {code - 1, code + 1})
      if (other < f16_format.first_special()) {
        EXPECT_LE(error, std::abs(std::abs(double(value)) - by_definition(f16_format, other)));
      }
  }
}

}  // namespace
}  // namespace bp
