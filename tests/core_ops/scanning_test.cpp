// needs: cpu
// What runs along a dimension, chooses in order and reduces by index, against a walk by hand.
#include <algorithm>
#include <limits>

#include "core_ops/peer_values.hpp"

namespace bp {
namespace {

using test::expect_values;
using test::sines;
using Numbers = std::vector<double>;
using Places = std::vector<std::int64_t>;

const double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double without_end = std::numeric_limits<double>::infinity();

TEST(Scanning, extremes_run_to_the_last_of_equal_ones_and_stop_at_nan) {
  const Tensor x = tensor(Numbers{1, 3, 2, 3, -1, 5, not_a_number, 7, not_a_number});
  const auto [largest, places] = cummax(x, 0);
  const Numbers values = to_vector<double>(largest);
  EXPECT_EQ(Numbers(values.begin(), values.begin() + 6), (Numbers{1, 3, 3, 3, 3, 5}));
  EXPECT_TRUE(std::isnan(values[6]) && std::isnan(values[7]) && std::isnan(values[8]));
  EXPECT_EQ(to_vector<std::int64_t>(places), (Places{0, 1, 1, 3, 3, 5, 6, 6, 8}));
  const Tensor numbers = tensor(Places{4, 2, 2, 9, 1});
  const auto [smallest, where_found] = cummin(numbers, -1);
  EXPECT_EQ(to_vector<std::int64_t>(smallest), (Places{4, 2, 2, 2, 1}));
  EXPECT_EQ(to_vector<std::int64_t>(where_found), (Places{0, 1, 2, 2, 4}));
}

TEST(Scanning, extremes_of_any_length_are_those_of_a_walk) {
  for (int size = 1; size <= 21; ++size) {
    const Tensor x = test::computed({size}, [](int i) { return std::sin(2.1 * i); });
    const Numbers in = to_vector<double>(x);
    Numbers walked;
    for (double value : in)
      walked.push_back(walked.empty() ? value : std::max(walked.back(), value));
    EXPECT_EQ(to_vector<double>(cummax(x, 0).values), walked) << size;
  }
}

TEST(Scanning, a_gradient_goes_to_where_an_extreme_stands) {
  const Tensor x = tensor(Numbers{1, 3, 2, 4});
  set_requires_grad(x);
  const Tensor weighted = mul(cummax(x, 0).values, tensor(Numbers{1, 10, 100, 1000}));
  expect_values(autograd::grad({sum(weighted)}, {x})[0], {1, 110, 0, 1000});
}

TEST(Scanning, running_sums_of_exponentials_do_not_overflow) {
  const Tensor x = tensor(Numbers{-without_end, -without_end, 1000, 1001, 999});
  set_requires_grad(x);
  const Tensor sums = logcumsumexp(x, 0);
  const Numbers values = to_vector<double>(detach(sums));
  EXPECT_EQ(values[1], -without_end);
  EXPECT_NEAR(values[3], 1000 + std::log1p(std::exp(1.0)), 1e-10);
  EXPECT_NEAR(values[4], 1000 + std::log(1 + std::exp(1.0) + std::exp(-1.0)), 1e-10);
  const Numbers gradient = to_vector<double>(autograd::grad({select(sums, 0, 4)}, {x})[0]);
  const double total = 1 + std::exp(1.0) + std::exp(-1.0);
  EXPECT_EQ(gradient[0], 0);
  EXPECT_NEAR(gradient[2], 1 / total, 1e-12);
  EXPECT_NEAR(gradient[3], std::exp(1.0) / total, 1e-12);
}

TEST(Scanning, the_most_frequent_is_the_smallest_of_several) {
  const Tensor x = tensor(Places{5, 2, 5, 2, 7, 1});
  const auto [value, place] = mode(x);
  EXPECT_EQ(item<int>(value), 2);
  EXPECT_EQ(item<int>(place), 3);
  EXPECT_EQ(to_string(mode(zeros({2, 3, 4}), 1, true).values.shape()), "[2, 1, 4]");
  EXPECT_THROW(mode(zeros({2, 0}), 1), Error);
}

TEST(Scanning, elements_are_chosen_in_order) {
  const Tensor x = tensor(Numbers{0.5, -1, 9, 4, not_a_number});
  EXPECT_EQ(item<double>(kthvalue(x, 1).values), -1);
  EXPECT_EQ(item<int>(kthvalue(x, 4).indices), 2);
  EXPECT_TRUE(std::isnan(item<double>(kthvalue(x, 5).values)));
  EXPECT_THROW(kthvalue(x, 6), Error);
  EXPECT_THROW(kthvalue(x, 0), Error);
}

TEST(Scanning, quantiles_leave_nan_out) {
  const Tensor x = tensor(Numbers{3, not_a_number, 1, 2, not_a_number, not_a_number}, {2, 3});
  expect_values(nanquantile(x, 0.25, 1), {1.5, 2});
  expect_values(nanquantile(x, 0.5), {2});
  EXPECT_TRUE(std::isnan(item<double>(nanquantile(full({3}, not_a_number, f64), 0.5))));
  expect_values(nanquantile(sines(), 0.3, 1, true), to_vector<double>(quantile(sines(), 0.3, 1)));
}

struct Reduced {
  const char* reduce;
  Numbers with_self, alone;
};

TEST(Scanning, what_one_place_gets_is_reduced) {
  const Tensor x = tensor(Numbers{1, 2, 3, 4}), src = tensor(Numbers{5, -6, 7, 0.5, 2});
  const Tensor index = tensor(Places{0, 2, 0, 2, 0});
  const Reduced cases[] = {{"sum", {15, 2, -2.5, 4}, {14, 2, -5.5, 4}},
                           {"prod", {70, 2, -9, 4}, {70, 2, -3, 4}},
                           {"mean", {3.75, 2, -2.5 / 3, 4}, {14.0 / 3, 2, -2.75, 4}},
                           {"amax", {7, 2, 3, 4}, {7, 2, 0.5, 4}},
                           {"amin", {1, 2, -6, 4}, {2, 2, -6, 4}}};
  for (const Reduced& one : cases) {
    expect_values(scatter_reduce(x, 0, index, src, one.reduce), one.with_self);
    expect_values(scatter_reduce(x, 0, index, src, one.reduce, false), one.alone);
    if (std::string_view(one.reduce) == "sum") continue;
    expect_values(index_reduce(x, 0, index, src, one.reduce), one.with_self);
  }
  EXPECT_THROW(scatter_reduce(x, 0, index, src, "median"), Error);
  EXPECT_THROW(index_reduce(x, 0, index, src, "sum"), Error);
}

TEST(Scanning, gradients_of_what_is_reduced_are_those_of_differences) {
  const Tensor index = tensor(Places{0, 2, 0, 2, 0});
  constexpr double step = 1e-6;
  for (const char* reduce : {"sum", "prod", "mean", "amax", "amin"})
    for (bool include_self : {true, false})
      for (double middle : {7.0, 0.0}) {
        const Tensor x = tensor(Numbers{1, 2, 3, 4}), src = tensor(Numbers{5, -6, middle, 0.5, 2});
        const Tensor weights = tensor(Numbers{1, 10, 100, 1000});
        const auto total = [&](const Tensor& from, const Tensor& values) {
          return sum(mul(scatter_reduce(from, 0, index, values, reduce, include_self), weights));
        };
        set_requires_grad(x);
        set_requires_grad(src);
        const std::vector<Tensor> found = autograd::grad({total(x, src)}, {x, src});
        for (std::int64_t k = 0; k < 9; ++k) {
          const bool is_source = k >= 4;
          const std::int64_t place = is_source ? k - 4 : k, size = is_source ? 5 : 4;
          const Tensor one = mul(cast(eq(arange(0, size), place), f64), step);
          const Tensor none = zeros({size}, f64), from = detach(x), values = detach(src);
          const auto at = [&](const Tensor& moved) {
            return item<double>(is_source ? total(from, add(values, moved))
                                          : total(add(from, moved), values));
          };
          const double slope = (at(one) - at(sub(none, one))) / (2 * step);
          const Tensor gradient = found[is_source ? 1 : 0];
          EXPECT_NEAR(item<double>(select(gradient, 0, place)), slope, 1e-4)
              << reduce << " " << include_self << " " << k;
        }
      }
}

TEST(Scanning, bags_of_rows_are_reduced) {
  const Tensor weight = tensor(Numbers{1, 2, 3, 4, 5, 6, 7, 8}, {4, 2});
  const Tensor vector = tensor(Places{0, 2, 3, 3, 1});
  const Tensor offsets = tensor(Places{0, 2, 2});
  expect_values(embedding_bag(vector, weight, offsets, "sum"), {6, 8, 0, 0, 17, 20});
  expect_values(embedding_bag(vector, weight, offsets, "max"), {5, 6, 0, 0, 7, 8});
  expect_values(embedding_bag(vector, weight, offsets, "mean", {}, true), {3, 4, 0, 0});
  const Tensor matrix = tensor(Places{0, 1, 2, 3}, {2, 2});
  expect_values(embedding_bag(matrix, weight), {2, 3, 6, 7});
  expect_values(embedding_bag(matrix, weight, {}, "mean", {}, false, 1), {1, 2, 6, 7});
  const Tensor shares = tensor(Numbers{1, 10, 0.5, 2}, {2, 2});
  expect_values(embedding_bag(matrix, weight, {}, "sum", shares), {31, 42, 16.5, 19});
  EXPECT_THROW(embedding_bag(vector, weight), Error);
}

TEST(Scanning, distances_of_pairs_are_those_above_the_diagonal) {
  const Tensor all = cdist(sines(), sines());
  Numbers expected;
  for (std::int64_t i = 0; i < 4; ++i)
    for (std::int64_t j = i + 1; j < 4; ++j)
      expected.push_back(item<double>(select(select(all, 0, i), 0, j)));
  expect_values(pdist(sines()), expected);
  EXPECT_EQ(pdist(zeros({1, 3})).numel(), 0);
}

}  // namespace
}  // namespace bp
