#include "inputs/telling_values.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace bp::conform {
namespace {

constexpr double log_of_2 = 0.693147180559945309;

// Digits after the point of the dtypes that numbers are cast to.
constexpr int digits_of_targets[] = {10, 7, 23, 3, 2, 52};

// One of those with at least two digits less than `digits`; -1 if there is none.
int narrower_digits(int digits, std::uint64_t word) {
  int fitting[std::size(digits_of_targets)], count = 0;
  for (const int each : digits_of_targets)
    if (each + 2 <= digits) fitting[count++] = each;
  return count == 0 ? -1 : fitting[word % static_cast<std::uint64_t>(count)];
}

}  // namespace

FloatRange range_of(Dtype dtype) {
  switch (dtype) {
    case f16: return {15, -14, 10};
    case bf16: return {127, -126, 7};
    case f8_e4m3fn: return {8, -6, 3};
    case f8_e5m2: return {15, -14, 2};
    case f64:
    case complex128: return {1023, -1022, 52};
    default: return {127, -126, 23};
  }
}

std::int64_t largest_of(Dtype dtype) {
  const int bits = static_cast<int>(itemsize(dtype)) * 8;
  return static_cast<std::int64_t>(~std::uint64_t{0} >> (65 - bits));
}

double late_real(const Filling& filling, std::int64_t element, std::uint64_t word) {
  const double share = static_cast<double>(element + 1) / static_cast<double>(filling.count);
  // Whole numbers, each of which the dtype has.
  const double most = std::ldexp(1.0, std::min(range_of(filling.dtype).digits, 23));
  const double size = std::ceil(share * most);
  return word & 1 ? -size : size;
}

std::int64_t late_whole(const Filling& filling, std::int64_t element, std::uint64_t word) {
  if (filling.dtype == boolean) {
    const std::int64_t quarter = element * 4 / filling.count;
    const bool is_last = (element + 1) * 4 / filling.count != quarter;
    return quarter < 2 ? (quarter == 1) != is_last : quarter == 3;
  }
  const std::int64_t most = std::min(largest_of(filling.dtype), std::int64_t{1} << 23);
  const auto size = static_cast<std::int64_t>(
      std::ceil(static_cast<double>(element + 1) / static_cast<double>(filling.count) *
                static_cast<double>(most)));
  if (is_signed_integer(filling.dtype)) return word & 1 ? -size : size;
  return word & 1 ? (most - size) / 2 : (most + size) / 2;
}

double nan_or_real(std::uint64_t word) {
  if (word % 3 == 0) return std::copysign(std::nan(""), word & 16 ? 1 : -1);
  return static_cast<double>(word / 64 % 9) - 4;
}

double edge_real(const FloatRange& range, std::int64_t element) {
  const double step = std::ldexp(1.0, -range.digits), whole = std::ldexp(1.0, range.digits);
  const double all[] = {0.5 - step / 4,
                        0.5,
                        0.5 + step / 2,
                        1 - step / 2,
                        1,
                        1 + step,
                        1.5 - step,
                        1.5,
                        1.5 + step,
                        2.5,
                        whole / 2 - 0.5,
                        whole / 2,
                        whole / 2 + 0.5,
                        whole - 1,
                        whole,
                        whole + 1,
                        2 * whole,
                        4 * whole,
                        0,
                        0.25};
  const auto place = static_cast<std::size_t>(element);
  const double chosen = all[place / 2 % std::size(all)];
  return place % 2 == 0 ? chosen : -chosen;
}

double swinging_real(const FloatRange& range, std::int64_t element) {
  const double large =
      std::ldexp(1.0 + 0.5 / (1 + static_cast<double>(element / 4 % 7)), range.largest);
  return element % 4 < 2 ? large : -large;
}

double sparse_real(const FloatRange& range, std::uint64_t word) {
  if (word % 11 != 0) return 0;
  const double size = std::ldexp(1.0, range.smallest + static_cast<int>(word / 16 % 4));
  return word & 1 ? size : -size;
}

std::int64_t sparse_whole(Dtype dtype, std::uint64_t word) {
  if (word % 11 != 0) return 0;
  const std::size_t bits = itemsize(dtype) * 8;
  if (bits == 8) return 1 << (4 + word / 16 % 3);
  // All bits of it are in the upper half.
  return std::int64_t{1} << (bits / 2 + word / 16 % (bits / 2 - 1));
}

double divisor(const FloatRange& range, std::uint64_t word) {
  static constexpr double tenths[] = {0.1, 0.7, 0.3, 1.1, -0.1, -0.6, 3.3, 0.01};
  const double rounded = std::ldexp(1.0, range.digits - 3);  // so many digits remain in all dtypes
  return std::nearbyint(tenths[word % std::size(tenths)] * rounded) / rounded;
}

double dividend(const FloatRange& range, std::uint64_t word) {
  const auto times = static_cast<double>(1 + word / 64 % 40);
  const double exact = divisor(range, word) * times * (word & 32 ? -1 : 1);
  const int exponent = std::ilogb(exact) - range.digits;
  const double step = std::ldexp(1.0, exponent);
  const double rounded = std::nearbyint(exact / step) * step;
  return rounded + (static_cast<double>(word / 4096 % 3) - 1) * step;
}

double fading_real(const FloatRange& range, std::uint64_t word) {
  const double smallest = (range.smallest - range.digits - 1) * log_of_2;
  const double normal = (range.smallest + 1) * log_of_2;
  const double power = smallest + fraction(word) * (normal - smallest);
  return word & 1 ? power : power / log_of_2;
}

double midpoint_real(const FloatRange& range, std::uint64_t word) {
  const std::uint64_t other = mix(word);
  const int digits = narrower_digits(range.digits, word >> 3);
  if (digits < 0) return fraction(word) * 4 - 2;
  const double sign = other & 1 ? -1 : 1;
  // What is half a step above the largest f16 becomes infinite; what is next below does not.
  double value = 65520;
  const bool is_denormal = (other >> 1) % 8 == 0 && range.largest > 15,
             is_largest = other % 29 == 0;
  const auto steps = static_cast<double>((other >> 8) % (std::uint64_t{1} << digits));
  if (is_denormal)
    value = std::ldexp(std::fmod(steps, 1024) + 0.5, digits == 10  ? -24
                                                     : digits == 7 ? -133
                                                                   : -149);
  else if (!is_largest || range.digits < 12)
    value = std::ldexp(std::ldexp(1.0, digits) + steps + 0.5,
                       static_cast<int>((other >> 40) % 7) - 3 - digits);
  const std::uint64_t beside = (other >> 48) % 3;
  const double step = std::ldexp(1.0, -range.digits);
  return sign * (beside == 0 ? value : value * (beside == 1 ? 1 + step : 1 - step));
}

std::int64_t midpoint_whole(Dtype dtype, std::uint64_t word) {
  const std::uint64_t other = mix(word);
  const int bits = static_cast<int>(itemsize(dtype)) * 8 - 1;
  const int digits = narrower_digits(bits - 1, word >> 3);
  if (digits < 0) return static_cast<std::int64_t>(word % 10);
  const auto steps = static_cast<std::int64_t>((other >> 8) % (std::uint64_t{1} << digits));
  const auto shift =
      static_cast<int>((other >> 40) % static_cast<std::uint64_t>(bits - digits - 1));
  const std::int64_t middle = (((std::int64_t{1} << digits) + steps) * 2 + 1) << shift;
  const std::int64_t value = middle + static_cast<std::int64_t>((other >> 48) % 3) - 1;
  return is_signed_integer(dtype) && other & 1 ? -value : value;
}

double power_base(const FloatRange& range, std::uint64_t word) {
  static constexpr double whole[] = {2, 3, -2, -3, 10, 0.5, -1.5, 7};
  if (word % 4 == 0) return whole[(word >> 2) % std::size(whole)];
  const int deepest = std::min(range.digits, 12);
  const int depth =
      2 + static_cast<int>((word >> 8) % static_cast<std::uint64_t>(std::max(deepest - 2, 1)));
  const double off = std::ldexp(1.0, -depth);
  return word & 4 ? 1 + off : 1 - off;
}

double power_exponent(const FloatRange& range, std::uint64_t word) {
  const double base = std::fabs(power_base(range, word));
  const double most = 0.9 * range.largest / std::fabs(std::log2(base));
  const std::uint64_t other = mix(word, 3);
  const double size = most * (0.3 + 0.7 * fraction(other));
  const double exponent = word % 4 == 0 || other & 1 ? std::nearbyint(size) : size;
  return other & 2 ? -exponent : exponent;
}

}  // namespace bp::conform
