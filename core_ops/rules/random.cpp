// Random numbers by their definition, for devices without a kernel: from philox's words.
#include <cmath>
#include <numbers>

#include <backplane/runtime/generator.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/number_range.hpp>

#include "decompositions.hpp"

namespace bp {
namespace {

constexpr double word_range = 0x1p32;  // of a word

// How many of a word's 32 bits a uniform number of this dtype keeps: its precision, so that 1 is
// never reached.
int kept_bits(Dtype dtype) {
  switch (dtype) {
    case f32: return 24;
    case f16: return 11;
    case bf16: return 8;
    default: return 32;
  }
}

std::int64_t numel_of(IntList size) {
  return checked_numel("random", size);
}

// Words 2j and 2j + 1 of a draw as float64.
struct WordPairs {
  Tensor first, second;
};
WordPairs word_pairs(std::int64_t num_pairs, std::int64_t seed, std::int64_t offset, Device device,
                     Dtype dtype) {
  const Tensor words = philox({num_pairs, 2}, seed, offset, device);
  return {cast(select(words, 1, 0), dtype), cast(select(words, 1, 1), dtype)};
}

// floor(w / 2^32 * range) of words w in float64; a cast of what is not negative is that floor.
Tensor steps_of_words(std::uint64_t range, IntList size, std::optional<Device> device,
                      Generator* generator) {
  return cast(mul(rand(size, f64, device, generator), static_cast<double>(range)), i64);
}

// floor(w / 2^64 * range) of w = w0 + 2^32 w1, by the columns of a product in base 2^16: range's digits
// times a word stay below 2^53, so that each step is exact in float64. What is from 2^64 on falls away, as it
// does where `low` is added.
Tensor steps_of_pairs(std::uint64_t range, IntList size, std::optional<Device> device,
                      Generator* generator) {
  const std::int64_t numel = checked_numel("randint", size);
  BP_CHECK(numel <= INT64_MAX / 2, "randint: {} numbers; choose a smaller size", numel);
  const Draw draw = reserve_words(2 * numel, device, generator);
  const WordPairs words = word_pairs(numel, draw.seed, draw.offset, draw.device, f64);
  const auto digit = [&](int place) {
    return static_cast<double>(range >> (16 * place) & 0xffffu);
  };
  const auto carried = [](const Tensor& column) { return floor(mul(column, 0x1p-16)); };
  Tensor carry = carried(mul(words.first, digit(0)));
  carry = carried(add(carry, mul(words.first, digit(1))));
  for (const int place : {2, 3})
    carry = carried(
        add(add(carry, mul(words.first, digit(place))), mul(words.second, digit(place - 2))));
  const Tensor low_part = cast(add(carry, mul(words.second, digit(2))), i64);
  const Tensor high_part = mul(cast(mul(words.second, digit(3)), i64), std::int64_t{1} << 16);
  return reshape(add(low_part, high_part), size);
}

// Cosine and sine of 2 pi word / 2^32. The quarter of the circle is taken off exactly, so that they keep all their
// digits close to where they are 0.
struct Circle {
  Tensor cosine, sine;
};
Circle circle(const Tensor& words) {
  const Tensor quarters = mul(words, 4 / word_range);
  const Tensor quarter = floor(add(quarters, 0.5));
  const Tensor angle = mul(sub(quarters, quarter), std::numbers::pi / 2);
  const Tensor is_odd = logical_or(eq(quarter, 1), eq(quarter, 3));
  const Tensor c = cos(angle), s = sin(angle);
  const Tensor along = where(is_odd, s, c), across = where(is_odd, c, s);
  const Tensor is_left = logical_or(eq(quarter, 1), eq(quarter, 2));
  const Tensor is_below = logical_or(eq(quarter, 2), eq(quarter, 3));
  return {where(is_left, neg(along), along), where(is_below, neg(across), across)};
}

}  // namespace

Draw reserve_words(std::int64_t num_words, std::optional<Device> device, Generator* generator) {
  const Device place = device_or_default(device);
  const PhiloxState state = draw_from(generator, place, static_cast<std::uint64_t>(num_words));
  return {static_cast<std::int64_t>(state.seed), static_cast<std::int64_t>(state.offset), place};
}

Tensor uniform_by_words(IntList size, std::int64_t seed, std::int64_t offset,
                        std::optional<Dtype> dtype, std::optional<Device> device) {
  const Dtype wanted = dtype.value_or(default_dtype());
  const double kept = std::ldexp(1.0, kept_bits(wanted));
  // Exact in float64, rounding included: the words' upper bits, then a power of two.
  const Tensor words = cast(philox(size, seed, offset, device), f64);
  return cast(mul(floor(mul(words, kept / word_range)), 1 / kept), wanted);
}

Tensor normal_by_words(IntList size, std::int64_t seed, std::int64_t offset,
                       std::optional<Dtype> dtype, std::optional<Device> device) {
  const std::int64_t numel = numel_of(size);
  const WordPairs words = word_pairs((numel + 1) / 2, seed, offset, device_or_default(device), f64);
  const Tensor radius = sqrt(mul(log(mul(add(words.first, 1.0), 1 / word_range)), -2.0));
  const Circle at = circle(words.second);
  const Tensor pairs =
      cat({unsqueeze(mul(radius, at.cosine), 1), unsqueeze(mul(radius, at.sine), 1)}, 1);
  const Tensor line = narrow(reshape(pairs, {-1}), 0, 0, numel);
  return cast(reshape(line, size), dtype.value_or(default_dtype()));
}

Tensor integers_by_words(std::int64_t low, std::int64_t high, IntList size,
                         std::optional<Dtype> dtype, std::optional<Device> device,
                         Generator* generator) {
  BP_CHECK(low < high, "randint: no whole number from {} up to {}; make the second larger", low,
           high);
  const Dtype wanted = dtype.value_or(i64);
  check_holds("randint", "the lowest number", wanted, low);
  check_holds("randint", "the highest number", wanted, high - 1);
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  const Tensor steps = range <= std::uint64_t{1} << 32
                           ? steps_of_words(range, size, device, generator)
                           : steps_of_pairs(range, size, device, generator);
  return in_dtype(low == 0 ? steps : add(steps, low), wanted);
}

Tensor permutation_by_sort(std::int64_t n, std::optional<Dtype> dtype, std::optional<Device> device,
                           Generator* generator) {
  BP_CHECK(n >= 0, "randperm: {} numbers; pass 0 or more", n);
  BP_CHECK(n <= INT64_MAX / 16, "randperm: {} numbers; pass at most {}", n, INT64_MAX / 16);
  const Draw draw = reserve_words(2 * n, device, generator);
  const WordPairs words = word_pairs(n, draw.seed, draw.offset, draw.device, i64);
  // 62 bits: equal keys, which the stable sort would leave in order, do not happen.
  const Tensor keys = add(words.second, words.first, std::int64_t{1} << 30);
  return in_dtype(sort(keys).indices, dtype.value_or(i64));
}

Tensor dropout_by_mask(const Tensor& input, double p, bool training) {
  BP_CHECK(p >= 0 && p <= 1, "dropout: p is {}; pass a probability from 0 to 1", p);
  if (!training || p == 0) return input;
  if (p == 1) return mul(input, 0);
  const Tensor mask = cast(ge(rand(input.shape(), f32, input.device()), p), input.dtype());
  return mul(mul(input, mask), 1 / (1 - p));
}

}  // namespace bp
