// needs: cpu
// logsumexp over each dimension of rows, columns and repeated rows against double, for each instruction set and each float.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/dtypes.hpp"
#include "backends/cpu/targets.hpp"

namespace bp_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Of [outer, count, inner] over the middle.
void check(uint32_t dtype, Data a, double tolerance, const std::string& target) {
  const Sizes shape = a.shape();
  const int64_t outer = shape[0], count = shape[1], inner = shape[2];
  for (const bool keepdim : {false, true}) {
    Data out(dtype, keepdim ? Sizes{outer, 1, inner} : Sizes{outer, inner});
    const Sizes dims = {keepdim ? 1 : -2};
    run("logsumexp", {value(a), value(dims), value(keepdim)}, {&out});
    for (int64_t i = 0; i < outer * inner; ++i) {
      const int64_t first = i / inner * count * inner + i % inner;
      double largest = -infinity;
      bool is_nan = false;
      for (int64_t k = 0; k < count; ++k) {
        const double x = get_number(a, dtype, first + k * inner);
        is_nan |= std::isnan(x);
        largest = std::max(largest, x);
      }
      long double sum = 0;
      for (int64_t k = 0; k < count && std::isfinite(largest); ++k)
        sum += std::exp(get_number(a, dtype, first + k * inner) - largest);
      const double truth = is_nan                    ? std::nan("")
                           : !std::isfinite(largest) ? largest
                                                     : largest + static_cast<double>(std::log(sum));
      const double made = get_number(out, dtype, i);
      const bool is_right = std::isfinite(truth) ? std::fabs(made - truth) <=
                                                       tolerance * std::max(1.0, std::fabs(truth))
                                                 : made == truth || (std::isnan(made) && is_nan);
      ASSERT_TRUE(is_right) << target << ' ' << dtype_name(dtype) << ::testing::PrintToString(shape)
                            << " result " << i << " is " << made << ", not " << truth;
    }
  }
}

struct Float {
  uint32_t dtype;
  double tolerance;
};
constexpr Float floats[] = {
    {BP_F32, 0x1p-22}, {BP_F64, 0x1p-50}, {BP_BF16, 0x1p-8}, {BP_F16, 0x1p-10}};

Data noise(uint32_t dtype, Data data) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal(0, 3);
  for (int64_t i = 0; i < data.numel(); ++i) set_number(data, dtype, i, normal(random));
  return data;
}

const std::vector<Sizes>& shapes() {
  static const std::vector<Sizes> all = {{3, 1, 1},   {5, 7, 1},   {4, 300, 1},    {2, 5000, 1},
                                         {2, 9, 5},   {1, 40, 70}, {3, 65, 64},    {1, 4100, 33},
                                         {40, 17, 1}, {1, 1, 130}, {3, 140001, 1}, {1, 131072, 1}};
  return all;
}

TEST(LogSumExp, agrees_with_double_over_rows_and_columns) {
  for_each_target([](const std::string& target) {
    for (const auto& [dtype, tolerance] : floats)
      for (const Sizes& shape : shapes())
        check(dtype, noise(dtype, Data(dtype, shape)), tolerance, target);
  });
}

// Each infinity and NaN stays with its row or column, and a NaN wins, wherever it stands.
TEST(LogSumExp, keeps_infinities_and_nan_apart) {
  for_each_target([](const std::string& target) {
    for (const auto& [dtype, tolerance] : floats)
      for (const Sizes& shape :
           {Sizes{40, 17, 1}, Sizes{2, 37, 40}, Sizes{3, 700, 2}, Sizes{6, 131073, 1}}) {
        Data a = noise(dtype, Data(dtype, shape));
        const int64_t count = shape[1], inner = shape[2], lines = shape[0] * inner;
        const auto at = [&](int64_t line, int64_t k) {
          return (line / inner * count + k) * inner + line % inner;
        };
        for (int64_t line = 0; line < lines; ++line) {
          const int64_t place = line * 5 % count, other = (place + count / 2) % count;
          for (int64_t k = 0; k < count && (line % 6 == 1 || line % 6 == 3); ++k)
            set_number(a, dtype, at(line, k), -infinity);
          if (line % 6 == 2 || line % 6 == 4) set_number(a, dtype, at(line, other), infinity);
          if (line % 6 >= 3)
            set_number(a, dtype, at(line, place), line % 6 == 5 ? -infinity : std::nan(""));
        }
        check(dtype, a, tolerance, target);
      }
  });
}

// Numbers whose exponentials leave f32's range.
TEST(LogSumExp, exceeds_no_range) {
  for_each_target([](const std::string& target) {
    for (const double shift : {-3e4, -200.0, 200.0, 3e4}) {
      Data a = noise(BP_F32, Data(BP_F32, {2, 90, 3}));
      for (int64_t i = 0; i < a.numel(); ++i) a.at<float>(i) += static_cast<float>(shift);
      check(BP_F32, a, 0x1p-22, target);
    }
  });
}

// As a copy of them in one run.
TEST(LogSumExp, takes_rows_that_are_repeated_or_lie_apart) {
  const Sizes last = {1};
  for (const Sizes& strides : {Sizes{0, 1}, Sizes{100, 2}, Sizes{1, 0}, Sizes{3, 40}}) {
    Data a = noise(BP_F32, Data(BP_F32, {6, 50}, strides)), copy(BP_F32, {6, 50});
    for (int64_t i = 0; i < copy.numel(); ++i) copy.at<float>(i) = a.at<float>(i);
    Data out(BP_F32, {6}), wanted(BP_F32, {6});
    run("logsumexp", {value(a), value(last), value(false)}, {&out});
    run("logsumexp", {value(copy), value(last), value(false)}, {&wanted});
    for (int64_t i = 0; i < 6; ++i)
      EXPECT_FLOAT_EQ(out.at<float>(i), wanted.at<float>(i))
          << ::testing::PrintToString(strides) << i;
  }
}

}  // namespace
}  // namespace bp_test
