// needs: cpu
// What writes by index, looks up and takes the largest, against loops and against PyTorch's numbers.
#include <cmath>
#include <gtest/gtest.h>
#include <random>

#include <backplane/tensors.hpp>

#include "core_ops/rows.hpp"

namespace bp {
namespace {

using Indices = std::vector<std::int64_t>;
using Numbers = std::vector<double>;

Tensor doubles(const Numbers& values, IntList shape) {
  return tensor(values, shape);
}

TEST(Scatter, writes_each_element_to_its_place_as_in_pytorch) {
  const Tensor a = doubles({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor index = tensor(Indices{0, 2, 0, 1, 0, 2}, {2, 3});
  EXPECT_EQ(to_vector<double>(scatter(zeros({2, 3}, f64), 1, index, a)),
            (Numbers{3, 0, 2, 5, 4, 6}));
  const Tensor short_index = tensor(Indices{2, 0, 0, 1}, {2, 2});
  EXPECT_EQ(to_vector<double>(scatter(zeros({3, 3}, f64), 0, short_index, a)),
            (Numbers{4, 2, 0, 0, 5, 0, 1, 0, 0}));
  EXPECT_EQ(to_vector<double>(scatter(zeros({2, 3}, f64), 1, index, 7)),
            (Numbers{7, 0, 7, 7, 7, 7}));
}

TEST(Scatter, keeps_the_last_of_many_for_one_place) {
  std::mt19937 random(3);
  const std::int64_t num_rows = 5, num_targets = 40, count = 1000;
  Indices index(static_cast<std::size_t>(num_rows * count));
  Indices source(index.size());
  Indices expected(static_cast<std::size_t>(num_rows * num_targets), -1);
  for (std::size_t i = 0; i < index.size(); ++i) {
    index[i] = random() % 37;  // three targets are left alone
    source[i] = (std::int64_t{1} << 60) + static_cast<std::int64_t>(random());
    const std::int64_t row = static_cast<std::int64_t>(i) / count;
    expected[static_cast<std::size_t>(row * num_targets + index[i])] = source[i];
  }
  const Tensor result =
      scatter(full({num_rows, num_targets}, -1, i64), 1, tensor(index, {num_rows, count}),
              tensor(source, {num_rows, count}));
  EXPECT_EQ(to_vector<std::int64_t>(result), expected);
}

TEST(Scatter, keeps_nan_infinities_and_the_sign_of_zero_in_their_own_places) {
  const Tensor result = scatter(ones({5}, f64), 0, tensor(Indices{4, 0, 1, 0, 2}),
                                doubles({NAN, INFINITY, -0.0, -INFINITY, 3}, {5}));
  const Numbers values = to_vector<double>(result);
  EXPECT_EQ(values[0], -INFINITY);
  EXPECT_EQ(values[1], 0);
  EXPECT_TRUE(std::signbit(values[1]));
  EXPECT_EQ(values[2], 3);
  EXPECT_EQ(values[3], 1);
  EXPECT_TRUE(std::isnan(values[4]));
}

TEST(Scatter, moves_bools_halves_and_complex_numbers) {
  const Tensor index = tensor(std::vector<std::int32_t>{1, 0, 1});
  const Tensor flags = scatter(zeros({3}, boolean), 0, index, tensor({false, true, true}));
  EXPECT_EQ(to_vector<std::int64_t>(cast(flags, i64)), (Indices{1, 1, 0}));
  const Tensor halves = scatter(zeros({2}, f16), 0, index, cast(tensor({1.5, 2.5, 3.5}), f16));
  EXPECT_EQ(to_vector<float>(cast(halves, f32)), (std::vector<float>{2.5, 3.5}));
  const Tensor pair = mul(tensor({1.0, 2.0, 3.0}), std::complex<double>(0, 1));
  const Tensor complex = scatter(zeros({2}, pair.dtype()), 0, index, pair);
  EXPECT_EQ(item<bp::Scalar>(select(complex, 0, 1)).to_complex(), std::complex<double>(0, 3));
}

TEST(Scatter, gives_the_gradient_to_the_last_and_none_to_what_was_written_over) {
  const Tensor a = zeros({4}, f64), source = ones({3}, f64);
  set_requires_grad(a);
  set_requires_grad(source);
  const Tensor result = scatter(a, 0, tensor(Indices{2, 0, 2}), source);
  backward(sum(result * doubles({1, 2, 3, 4}, {4})));
  EXPECT_EQ(to_vector<double>(grad(a)), (Numbers{0, 2, 0, 4}));
  EXPECT_EQ(to_vector<double>(grad(source)), (Numbers{0, 1, 3}));
}

TEST(Scatter, takes_0_dim_tensors_for_vectors_of_one_element) {
  const Tensor a = doubles({1, 2, 3}, {3}), seven = tensor(7.0, {f64}), two = tensor(2);
  EXPECT_EQ(to_vector<double>(scatter(a, 0, two, seven)), (Numbers{1, 2, 7}));
  EXPECT_EQ(to_vector<double>(scatter(a, 0, tensor(Indices{0}), seven)), (Numbers{7, 2, 3}));
  const Tensor source = doubles({5, 6}, {2});
  set_requires_grad(source);
  const Tensor written = scatter(tensor(0.0, {f64}), 0, tensor(0), source);
  EXPECT_EQ(item<double>(written), 5);
  backward(written);
  EXPECT_EQ(to_vector<double>(grad(source)), (Numbers{1, 0}));
  EXPECT_THROW(scatter(a, 0, tensor(Indices{0, 1}), seven), Error);
}

TEST(Scatter, an_index_outside_is_an_error) {
  const Tensor a = zeros({3});
  EXPECT_THROW(scatter(a, 0, tensor(Indices{3}), ones({1})), Error);
  EXPECT_THROW(scatter(a, 0, tensor(Indices{-1}), 5), Error);
  EXPECT_THROW(scatter(a, 0, tensor(Indices{0}), ones({1}, f64)), Error);
}

TEST(IndexPut, writes_and_adds_what_pytorch_does) {
  const Tensor zero = zeros({3, 2}, f64);
  const Tensor pair = doubles({5, 6}, {2});
  EXPECT_EQ(
      to_vector<double>(index_put(zero, {tensor(Indices{0, -1}), tensor(Indices{1, 0})}, pair)),
      (Numbers{0, 5, 0, 0, 6, 0}));
  EXPECT_EQ(to_vector<double>(
                index_put(zero, {tensor(Indices{1, 2}, {2, 1}), tensor(Indices{0, 1})}, pair)),
            (Numbers{0, 0, 5, 6, 5, 6}));
  const Tensor rows = doubles({1, 2, 3, 4, 5, 6}, {3, 2});
  EXPECT_EQ(to_vector<double>(index_put(zero, {tensor(Indices{0, 0, 1})}, rows, true)),
            (Numbers{4, 6, 5, 6, 0, 0}));
  EXPECT_EQ(to_vector<double>(index_put(zero, {tensor(Indices{0, 0, 1})}, rows)),
            (Numbers{3, 4, 5, 6, 0, 0}));
  EXPECT_EQ(to_vector<double>(
                index_put(zero, {tensor({true, false, true})}, doubles({1, 2, 3, 4}, {2, 2}))),
            (Numbers{1, 2, 0, 0, 3, 4}));
  EXPECT_EQ(to_vector<double>(index_put(zero, {zero == 0}, tensor(7.0, {f64}))),
            (Numbers{7, 7, 7, 7, 7, 7}));
  EXPECT_EQ(to_vector<double>(index_put(rows, {zero != 0}, tensor(7.0, {f64}))),
            (Numbers{1, 2, 3, 4, 5, 6}));
}

TEST(IndexPut, gradients_go_to_the_values_that_stayed) {
  for (bool accumulate : {false, true}) {
    const Tensor a = zeros({3, 1}, f64), values = ones({3, 1}, f64);
    set_requires_grad(a);
    set_requires_grad(values);
    const Tensor result = index_put(a, {tensor(Indices{2, 0, 2})}, values, accumulate);
    backward(sum(result * doubles({1, 2, 3}, {3, 1})));
    EXPECT_EQ(to_vector<double>(grad(a)), accumulate ? (Numbers{1, 2, 3}) : (Numbers{0, 2, 0}));
    EXPECT_EQ(to_vector<double>(grad(values)),
              accumulate ? (Numbers{3, 1, 3}) : (Numbers{0, 1, 3}));
  }
}

TEST(IndexPut, an_index_outside_in_any_dimension_is_an_error) {
  const Tensor a = zeros({3, 4}), one = ones({1});
  EXPECT_THROW(index_put(a, {tensor(Indices{0}), tensor(Indices{4})}, one), Error);
  EXPECT_THROW(index_put(a, {tensor(Indices{1}), tensor(Indices{-5})}, one), Error);
  EXPECT_THROW(index_put(a, {tensor(Indices{3})}, one), Error);
  EXPECT_THROW(index_put(a, {tensor({1.0})}, one), Error);
  EXPECT_THROW(index_put(a, {tensor({true, false})}, one), Error);
  EXPECT_THROW(index_put(a, {tensor(Indices{0})}, ones({1}, f64)), Error);
}

TEST(Embedding, looks_rows_up_and_leaves_the_padding_without_gradient) {
  const Tensor weight = doubles({0, 1, 2, 3, 4, 5}, {3, 2});
  set_requires_grad(weight);
  const Tensor rows = embedding(weight, tensor(Indices{0, 1, 1, 2}, {2, 2}), 1);
  EXPECT_EQ(to_string(rows.shape()), "[2, 2, 2]");
  EXPECT_EQ(to_vector<double>(rows), (Numbers{0, 1, 2, 3, 2, 3, 4, 5}));
  backward(sum(rows * doubles({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2})));
  EXPECT_EQ(to_vector<double>(grad(weight)), (Numbers{1, 2, 0, 0, 7, 8}));
  set_grad(weight, {});
  backward(sum(embedding(weight, tensor(Indices{1, 1, 2}))));
  EXPECT_EQ(to_vector<double>(grad(weight)), (Numbers{0, 0, 2, 2, 1, 1}));
}

TEST(Embedding, says_what_does_not_fit) {
  const Tensor index = test::meta({2}, i64);
  EXPECT_THROW(embedding(test::meta({3}), index), Error);
  EXPECT_THROW(embedding(test::meta({3, 2}), test::meta({2})), Error);
  EXPECT_THROW(embedding(test::meta({3, 2}), index, 3), Error);
  EXPECT_THROW(embedding(test::meta({0, 2}), index), Error);
  EXPECT_THROW(embedding(zeros({3, 2}), tensor(Indices{3})), Error);
}

TEST(Topk, gives_the_first_of_the_order_with_nan_as_the_largest) {
  const TopkResult with_nan = topk(tensor({1.0, std::nan(""), 2.0, 3.0}), 2);
  EXPECT_EQ(to_vector<std::int64_t>(with_nan.indices), (Indices{1, 3}));
  const Tensor a = doubles({1, 5, 3, 9, 2, 4}, {2, 3});
  const TopkResult down = topk(a, 2, 0);
  EXPECT_EQ(to_vector<double>(down.values), (Numbers{9, 5, 4, 1, 2, 3}));
  EXPECT_EQ(to_vector<std::int64_t>(down.indices), (Indices{1, 0, 1, 0, 1, 0}));
  const TopkResult smallest = topk(a, 2, 1, false);
  EXPECT_EQ(to_vector<double>(smallest.values), (Numbers{1, 3, 2, 4}));
  EXPECT_EQ(to_vector<std::int64_t>(smallest.indices), (Indices{0, 2, 1, 2}));
  EXPECT_EQ(to_vector<std::int64_t>(topk(tensor({2, 2, 2}), 2).indices), (Indices{0, 1}));
}

TEST(Topk, sends_gradients_to_the_elements_that_were_taken) {
  const Tensor a = doubles({1, 5, 3, 9, 2, 4}, {2, 3});
  set_requires_grad(a);
  backward(sum(topk(a, 2).values * doubles({1, 2, 3, 4}, {2, 2})));
  EXPECT_EQ(to_vector<double>(grad(a)), (Numbers{0, 1, 2, 3, 0, 4}));
}

TEST(Topk, more_than_there_are_is_an_error) {
  EXPECT_THROW(topk(test::meta({2, 3}), 4), Error);
  EXPECT_THROW(topk(test::meta({2, 3}), -1), Error);
  EXPECT_THROW(topk(test::meta({2, 3}), 1, 2), Error);
}

}  // namespace
}  // namespace bp
