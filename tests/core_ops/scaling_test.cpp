// needs: cpu
// What divides by moments, neighbours and norms, pools of powers, pools undone, waiting times, and mel windows.
#include <cmath>
#include <gtest/gtest.h>

#include <backplane/tensors.hpp>

#include "core_ops/peer_values.hpp"
#include "core_ops/rows.hpp"

namespace bp::scaling_test {
namespace {

using Numbers = std::vector<double>;

Numbers doubles(const Tensor& input) {
  return to_vector<double>(to(input, f64));
}

TEST(Scaling, hardmax_marks_the_first_of_the_largest) {
  const Tensor input = tensor({{1.0, 3.0, 3.0, 2.0}, {5.0, 4.0, 5.0, 5.0}});
  EXPECT_EQ(doubles(hardmax(input)), (Numbers{0, 1, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(doubles(hardmax(input, 0)), (Numbers{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(hardmax(zeros({2, 0}, f32)).shape(), (Dims{2, 0}));
}

TEST(Scaling, moments_are_taken_over_all_but_channels) {
  const Tensor input = test::computed({2, 3, 4}, [](int i) { return std::sin(i * 1.7) * 3; });
  const Tensor made = mean_variance_normalization(input);
  const Tensor centered = sub(input, mean(input, {0, 2}, true));
  const Tensor deviation = std(input, {0, 2}, 0, true);
  test::expect_values(made, doubles(div(centered, add(deviation, 1e-9))));
  test::expect_values(mean_variance_normalization(input, {0, -1}), doubles(made));
  const Tensor equal_ones = set_requires_grad(ones({2, 3}, f64));
  const Tensor flat = mean_variance_normalization(equal_ones);
  EXPECT_EQ(doubles(detach(flat)), Numbers(6, 0));
  EXPECT_EQ(doubles(autograd::grad({sum(flat)}, {equal_ones})[0]), Numbers(6, 0));
}

TEST(Scaling, neighbours_are_counted_in_front_first) {
  const Tensor input = test::computed({2, 5, 3}, [](int i) { return std::cos(i * 0.9) * 2; });
  for (const std::int64_t size : {1, 2, 3, 4, 20}) {
    const Numbers made = doubles(local_response_norm(input, size, 0.5, 0.75, 2));
    const Numbers values = doubles(input);
    for (std::int64_t i = 0; i < 30; ++i) {
      const std::int64_t channel = i / 3 % 5;
      double squares = 0;
      for (std::int64_t c = channel - size / 2; c <= channel + (size - 1) / 2; ++c) {
        if (c < 0 || c >= 5) continue;
        const double value = values[static_cast<std::size_t>(i + (c - channel) * 3)];
        squares += value * value;
      }
      const double divisor = std::pow(2 + 0.5 * squares / static_cast<double>(size), 0.75);
      EXPECT_NEAR(made[static_cast<std::size_t>(i)], values[static_cast<std::size_t>(i)] / divisor,
                  1e-13);
    }
  }
}

TEST(Scaling, weights_have_the_length_that_they_are_given) {
  const Tensor v = test::computed({4, 3, 2}, [](int i) { return std::sin(i + 0.5); });
  const Tensor lengths = test::computed({3}, [](int i) { return i + 0.5; });
  const Tensor made = weight_norm(v, reshape(lengths, {1, 3, 1}), 1);
  test::expect_values(norm(made, 2, {0, 2}), {0.5, 1.5, 2.5});
  test::expect_values(reshape(norm(weight_norm(v, full({}, 3, f64), -1)), {1}), {3});
  // Of a vector each element has a length of its own.
  const Tensor line = test::computed({3}, [](int i) { return i - 4.0; });
  test::expect_values(weight_norm(line, lengths, 0), {-0.5, -1.5, -2.5});
}

TEST(Unpooling, sums_of_powers_are_those_of_each_window) {
  const Tensor input = test::computed({1, 1, 7}, [](int i) { return i - 2.5; });
  const Numbers made = doubles(lp_pool1d(input, 2, {3}, {2}));
  for (std::size_t i = 0; i < made.size(); ++i) {
    double squares = 0;
    for (int k = 0; k < 3; ++k) squares += std::pow(2 * static_cast<double>(i) + k - 2.5, 2);
    EXPECT_NEAR(made[i], std::sqrt(squares), 1e-13);
  }
  EXPECT_EQ(made.size(), 3u);
}

TEST(Unpooling, puts_the_largest_back_where_they_were) {
  const Tensor input = test::computed({2, 3, 5, 7}, [](int i) { return std::sin(i * 2.1) + 2; });
  const auto pooled = max_pool_with_indices(input, {2, 3});
  const Tensor made = max_unpool2d(pooled.values, pooled.indices, {2, 3}, {}, {0}, {5, 7});
  EXPECT_EQ(made.shape(), input.shape());
  const Tensor stays = logical_or(eq(made, input), eq(made, 0));
  EXPECT_TRUE(item<bool>(all(stays)));
  EXPECT_EQ(item<double>(sum(made)), item<double>(sum(pooled.values)));
  EXPECT_EQ(max_unpool2d(pooled.values, pooled.indices, {2, 3}, {}, {0}, {2, 3, 5, 7}).shape(),
            input.shape());
  EXPECT_THROW(max_unpool2d(pooled.values, pooled.indices, {2, 3}, {}, {0}, {9, 7}), Error);
  EXPECT_THROW(max_unpool2d(pooled.values, to(pooled.indices, i32), {2, 3}), Error);
}

TEST(Scaling, waiting_times_are_positive_with_their_mean_and_tail) {
  Generator generator(5);
  const Tensor drawn = empty({20000}, f32);
  EXPECT_TRUE(exponential_(drawn, 4, &generator).is_same(drawn));
  EXPECT_GT(item<float>(min(drawn)), 0);
  EXPECT_NEAR(item<float>(mean(drawn)), 0.25, 0.006);
  EXPECT_NEAR(item<float>(mean(to(gt(drawn, 0.5), f32))), std::exp(-2), 0.01);
  EXPECT_THROW(exponential_(drawn, 0), Error);
}

TEST(Scaling, mel_windows_are_onnx_s) {
  const Tensor made = mel_weight_matrix(8, 16, 8192, 0, 4096);
  EXPECT_EQ(made.shape(), (Dims{9, 8}));
  // The corners of the windows lie in lines 0, 0, 0, 1, 1, 2, 3, 4, 5 and 6.
  Numbers expected(72, 0);
  for (const auto& [line, bin] :
       {std::pair{0, 0}, {0, 1}, {1, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 6}, {5, 7}})
    expected[static_cast<std::size_t>(line * 8 + bin)] = 1;
  EXPECT_EQ(doubles(made), expected);
  const Numbers wide = doubles(mel_weight_matrix(2, 64, 8000, 100, 3000, f64));
  double most = 0;
  for (const double weight : wide) most = std::max(most, weight);
  EXPECT_EQ(most, 1);
  EXPECT_THROW(mel_weight_matrix(8, 16, 8192, 0, 5000), Error);
}

}  // namespace
}  // namespace bp::scaling_test
