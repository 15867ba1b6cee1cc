// packed_convolution against a loop over each window, with each instruction set: panels and blocks that end in the middle, strides,
// dilation, padding on one side alone, groups, single channels, and numbers that are not finite.
#include <cmath>
#include <limits>
#include <random>

#include "targets.hpp"

namespace {

using namespace bp_test;

struct PackedLayer {
  int64_t batch, size[2], channels, to, groups, kernel[2], stride[2], padding[4], dilation[2];
  bool has_bias, has_other, is_limited;

  int64_t each() const { return channels / groups; }
  int64_t results() const { return to / groups; }
  bool is_depthwise() const { return groups > 1 && each() == 1 && results() == 1; }
  int64_t count(int dim) const {
    const int64_t room = size[dim] + padding[dim] + padding[dim + 2];
    return (room - dilation[dim] * (kernel[dim] - 1) - 1) / stride[dim] + 1;
  }
  Sizes packed() const {
    if (is_depthwise()) return {kernel[0], kernel[1], to};
    return {groups, (results() + 31) / 32, kernel[0], kernel[1], each(), 32};
  }
  // Where the weight of a result, and of a channel of its group, lies.
  int64_t place(int64_t result, int64_t channel, int64_t ky, int64_t kx) const {
    if (is_depthwise()) return (ky * kernel[1] + kx) * to + result;
    const int64_t group = result / results(), own = result % results();
    const int64_t panel = group * ((results() + 31) / 32) + own / 32;
    return (((panel * kernel[0] + ky) * kernel[1] + kx) * each() + channel) * 32 + own % 32;
  }
};

struct Operands {
  Data input, weight, bias, other;
};

// What there is at a point of the result, and the sum of its terms' sizes.
std::pair<double, double> expected(const PackedLayer& l, Operands& o, int64_t n, int64_t y,
                                   int64_t x, int64_t result) {
  double sum = 0, size = 0;
  const auto add = [&](double term) { sum += term, size += std::abs(term); };
  for (int64_t ky = 0; ky < l.kernel[0]; ++ky)
    for (int64_t kx = 0; kx < l.kernel[1]; ++kx) {
      const int64_t row = y * l.stride[0] - l.padding[0] + ky * l.dilation[0];
      const int64_t column = x * l.stride[1] - l.padding[1] + kx * l.dilation[1];
      if (row < 0 || row >= l.size[0] || column < 0 || column >= l.size[1]) continue;
      const int64_t first = result / l.results() * l.each();
      for (int64_t c = 0; c < l.each(); ++c)
        add(double{o.input.at<float>(((n * l.size[0] + row) * l.size[1] + column) * l.channels +
                                     first + c)} *
            double{o.weight.at<float>(l.place(result, c, ky, kx))});
    }
  if (l.has_bias) add(o.bias.at<float>(result));
  if (l.has_other) add(o.other.at<float>(((n * l.count(0) + y) * l.count(1) + x) * l.to + result));
  if (l.is_limited && sum < -1) sum = -1;
  if (l.is_limited && sum > 2) sum = 2;
  return {sum, size};
}

void fill(Data& data, std::mt19937& random, bool with_specials) {
  const float special[] = {std::numeric_limits<float>::quiet_NaN(),
                           std::numeric_limits<float>::infinity()};
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < data.numel(); ++i)
    data.at<float>(i) =
        with_specials && random() % 64 == 0 ? special[random() % 2] : normal(random);
}

void expect_right(const PackedLayer& l, std::mt19937& random, bool with_specials) {
  const Sizes shape{l.batch, l.count(0), l.count(1), l.to};
  Operands o{Data(BP_F32, {l.batch, l.size[0], l.size[1], l.channels}), Data(BP_F32, l.packed()),
             Data(BP_F32, {l.to}), Data(BP_F32, shape)};
  fill(o.input, random, with_specials);
  for (Data* each : {&o.weight, &o.bias, &o.other}) fill(*each, random, false);
  Data result(BP_F32, shape);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (int64_t i = 0; i < result.numel(); ++i) result.at<float>(i) = static_cast<float>(nan);
  run("packed_convolution",
      {value(o.input), value(o.weight), l.has_bias ? value(o.bias) : none(),
       l.has_other ? value(o.other) : none(),
       value(Sizes{l.to, l.each(), l.kernel[0], l.kernel[1]}), value(Sizes(l.stride, l.stride + 2)),
       value(Sizes(l.padding, l.padding + 4)), value(Sizes(l.dilation, l.dilation + 2)),
       value(l.groups), l.is_limited ? value(-1.0) : none(), l.is_limited ? value(2.0) : none()},
      {&result});
  int64_t at = 0;
  for (int64_t n = 0; n < l.batch; ++n)
    for (int64_t y = 0; y < l.count(0); ++y)
      for (int64_t x = 0; x < l.count(1); ++x)
        for (int64_t to = 0; to < l.to; ++to, ++at) {
          const auto [wanted, size] = expected(l, o, n, y, x, to);
          const double found = result.at<float>(at);
          const bool is_right = std::isnan(wanted) ? std::isnan(found)
                                : std::isinf(wanted)
                                    ? found == wanted
                                    : std::abs(found - wanted) <= 1e-6 * size + 1e-30;
          ASSERT_TRUE(is_right) << "element " << at << ": " << found << " is not " << wanted;
        }
}

TEST(CpuPackedConvolution, matches_a_loop_over_each_window_with_each_instruction_set) {
  for_each_target([](const std::string& name) {
    std::mt19937 random(11);
    const auto upto = [&](int64_t most) { return static_cast<int64_t>(random()) % most + 1; };
    for (int i = 0; i < 120; ++i) {
      PackedLayer l{};
      l.batch = upto(3);
      for (int64_t& size : l.size) size = upto(9);
      l.groups = i % 4 == 0 ? upto(3) : 1;
      l.channels = l.groups * (i % 3 == 0 ? upto(5) : 15 + upto(20));
      l.to = l.groups * upto(70);
      if (i % 7 == 0) l.groups = l.channels = l.to = upto(40);  // a channel for each result
      for (int dim = 0; dim < 2; ++dim) {
        l.kernel[dim] = upto(3), l.stride[dim] = upto(2), l.dilation[dim] = upto(2);
        l.padding[dim] = static_cast<int64_t>(random() % 3);
        l.padding[dim + 2] = static_cast<int64_t>(random() % 3);
      }
      if (i % 5 == 0) l.size[0] = 1, l.size[1] = 30 + upto(20), l.kernel[0] = 1;
      l.has_bias = random() % 2, l.has_other = random() % 2, l.is_limited = random() % 2;
      const auto fits = [&](int dim) {
        return l.size[dim] + l.padding[dim] + l.padding[dim + 2] >
               l.dilation[dim] * (l.kernel[dim] - 1);
      };
      if (!fits(0) || !fits(1)) continue;
      SCOPED_TRACE(name + ", layer " + std::to_string(i));
      expect_right(l, random, i % 6 == 0);
    }
  });
}

// A one is lost beside 2^24, and a thousand are not: long sums are made of parts.
TEST(CpuPackedConvolution, loses_little_in_long_sums) {
  constexpr int64_t channels = 8000, to = 40, lost = 1024;
  constexpr float large = 1 << 24;
  for_each_target([](const std::string& name) {
    const PackedLayer l{1,      {1, 5}, channels, to,    1,     {1, 1},
                        {1, 1}, {},     {1, 1},   false, false, false};
    Data input(BP_F32, {1, 1, 5, channels}), weight(BP_F32, l.packed()),
        result(BP_F32, {1, 1, 5, to});
    for (int64_t i = 0; i < input.numel(); ++i) input.at<float>(i) = i % channels == 0 ? large : 1;
    for (int64_t i = 0; i < weight.numel(); ++i) weight.at<float>(i) = 1;
    run("packed_convolution",
        {value(input), value(weight), none(), none(), value(Sizes{to, channels, 1, 1}),
         value(Sizes{1, 1}), value(Sizes{0, 0, 0, 0}), value(Sizes{1, 1}), value(int64_t{1}),
         none(), none()},
        {&result});
    for (int64_t i = 0; i < result.numel(); ++i)
      ASSERT_NEAR(result.at<float>(i), large + channels, lost) << name << ", element " << i;
  });
}

TEST(CpuPackedConvolution, gives_the_same_bits_on_any_number_of_threads) {
  std::mt19937 random(3);
  PackedLayer l{2, {20, 20}, 40, 70, 1, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, false, false, false};
  Data input(BP_F32, {2, 20, 20, 40}), weight(BP_F32, l.packed());
  fill(input, random, false);
  fill(weight, random, false);
  std::vector<std::vector<float>> results;
  for (const uint32_t threads : {1u, 2u, 3u}) {
    CpuPlugin::get().set_num_threads(threads);
    Data result(BP_F32, {2, 20, 20, 70});
    run("packed_convolution",
        {value(input), value(weight), none(), none(), value(Sizes{70, 40, 3, 3}),
         value(Sizes{1, 1}), value(Sizes{1, 1, 1, 1}), value(Sizes{1, 1}), value(int64_t{1}),
         none(), none()},
        {&result});
    results.push_back(result.values<float>());
  }
  CpuPlugin::get().set_num_threads(0);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

}  // namespace
