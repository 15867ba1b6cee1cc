// needs: cpu
// What adds to matrix products, and sums of products by equations, against loops and PyTorch's values.
#include <map>

#include <backplane/dispatcher/counters.hpp>

#include "core_ops/peer_values.hpp"

namespace bp {
namespace {

using test::cosines;
using test::error_of;
using test::expect_values;
using test::parts;
using test::sines;
using test::weights;

Tensor three_columns() {
  return clone(narrow(sines(), 1, 0, 3));
}
Tensor three_rows() {
  return clone(narrow(narrow(cosines(), 0, 0, 3), 1, 0, 4));
}

// a[i, :] by b[:, k], by plain loops.
std::vector<double> product_by_loops(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = to_vector<double>(contiguous(a)),
                            y = to_vector<double>(contiguous(b));
  const auto n = static_cast<std::size_t>(a.size(0)), k = static_cast<std::size_t>(a.size(1)),
             m = static_cast<std::size_t>(b.size(1));
  std::vector<double> z(n * m, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j)
      for (std::size_t l = 0; l < k; ++l) z[i * m + j] += x[i * k + l] * y[l * m + j];
  return z;
}

TEST(Linear, an_addend_and_factors_join_a_product) {
  const Tensor addend = clone(narrow(parts(), 1, 0, 4));
  std::vector<double> expected = product_by_loops(three_columns(), three_rows());
  const std::vector<double> added = to_vector<double>(addend);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = 2 * expected[i] + 0.5 * added[i];
  expect_values(addmm(addend, three_columns(), three_rows(), 0.5, 2), expected);
  const Tensor batches = baddbmm(unsqueeze(addend, 0), unsqueeze(three_columns(), 0),
                                 unsqueeze(three_rows(), 0), 0.5, 2);
  EXPECT_EQ(to_string(batches.shape()), "[1, 4, 4]");
  expect_values(batches, expected);
}

TEST(Linear, an_addend_times_zero_is_not_looked_at) {
  const Tensor nothing = full({4}, std::nan(""), f64);
  expect_values(addmm(nothing, three_columns(), three_rows(), 0),
                product_by_loops(three_columns(), three_rows()));
}

TEST(Linear, a_map_takes_any_rank) {
  const Tensor a = three_columns(), weight = clone(transpose(three_rows(), 0, 1));
  const Tensor bias = tensor(std::vector<double>{1, -2, 3, 0.5});
  std::vector<double> expected = product_by_loops(a, three_rows());
  expect_values(linear(a, weight), expected);
  const std::vector<double> added = to_vector<double>(bias);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += added[i % 4];
  expect_values(linear(a, weight, bias), expected);
  const Tensor batch = linear(reshape(a, {2, 2, 3}), weight, bias);
  EXPECT_EQ(to_string(batch.shape()), "[2, 2, 4]");
  expect_values(batch, expected);
  const Tensor vector = linear(select(a, 0, 1), weight, bias);
  EXPECT_EQ(to_string(vector.shape()), "[4]");
  expect_values(vector, {expected.begin() + 4, expected.begin() + 8});
  EXPECT_EQ(to_string(linear(a, select(weight, 0, 0), tensor(1.0, {.dtype = f64})).shape()), "[4]");
  EXPECT_EQ(to_string(linear(zeros({2, 0, 3}), zeros({4, 3}), zeros({4})).shape()), "[2, 0, 4]");
}

TEST(Linear, a_map_is_one_product_and_one_sum) {
  const Tensor a = ones({8, 16}), weight = ones({4, 16}), bias = ones({4});
  reset_call_counts();
  linear(a, weight, bias);
  std::map<std::string, std::uint64_t> calls;
  for (const CallCount& row : call_counts())
    for (std::uint64_t count : row.calls) calls[row.op] += count;
  EXPECT_EQ(calls["matmul"], 1u);
  EXPECT_EQ(calls["add"], 1u);
  EXPECT_EQ(calls["copy"] + calls["mul"], 0u);
}

TEST(Linear, equations_are_pytorchs) {
  const Tensor x = sines(), y = cosines();
  const std::vector<double> product = product_by_loops(three_columns(), three_rows());
  for (const char* equation : {"ij,jk->ik", "ij,jk", " ij , jk -> ik ", "...j,jk->...k"})
    expect_values(einsum(equation, {three_columns(), three_rows()}), product);
  const Tensor square = narrow(x, 1, 0, 4);
  expect_values(einsum("ii", {square}), {1.1755963277706514});
  expect_values(einsum("ii->i", {square}), {0.39733866159012243, 0.24890884701412694,
                                            -0.8691312441437935, 1.3984800633101955});
  EXPECT_EQ(to_string(einsum("ba", {three_columns()}).shape()), "[3, 4]");
  expect_values(contiguous(einsum("ba", {three_columns()})),
                to_vector<double>(contiguous(transpose(three_columns(), 0, 1))));
  expect_values(einsum("bn,anm,bm->ba", {narrow(narrow(x, 0, 0, 2), 1, 0, 3), reshape(y, {2, 3, 4}),
                                         narrow(narrow(parts(), 0, 0, 2), 1, 0, 4)}),
                {-0.7812339329186083, 2.307937918460522, -1.691376666083841, -0.9791565105958699});
  expect_values(einsum("iij,j->i", {reshape(x, {2, 2, 6}), weights()}),
                {3.1214978513551523, -1.9163944330956868});
  expect_values(einsum("ij,ij->i", {narrow(x, 1, 0, 1), y}),
                {-0.26743820452478156, 7.06090787090768, 0.5194294757111574, 1.594092409762593});
  expect_values(einsum("Ab,bA", {three_columns(), transpose(three_columns(), 0, 1)}),
                {23.90844653517775});
  expect_values(einsum("i...->...", {x}),
                {0.19368947010826743, -0.1855226017958425, -0.2929436274358186,
                 0.028798447411603867, 0.30835072933343555, 0.13616847039285784});
  expect_values(einsum("...->", {x}), {0.18854088801450475});
}

TEST(Linear, equations_without_a_sum_are_outer_products) {
  const Tensor a = weights(), b = tensor(std::vector<double>{2, -1}),
               c = tensor(std::vector<double>{3, 5, 7});
  const std::vector<double> x = to_vector<double>(a), y = to_vector<double>(b),
                            z = to_vector<double>(c);
  std::vector<double> expected;
  for (double third : z)
    for (double second : y)
      for (double first : x) expected.push_back(first * second * third);
  const Tensor outer = einsum("i,j,k->kji", {a, b, c});
  EXPECT_EQ(to_string(outer.shape()), "[3, 2, 6]");
  expect_values(contiguous(outer), expected);
  EXPECT_EQ(to_string(einsum("ij,jk->ik", {zeros({3, 0}), zeros({0, 4})}).shape()), "[3, 4]");
  EXPECT_EQ(to_vector<std::int64_t>(einsum("i,i->", {tensor({1, 2, 3}), tensor({4, 5, 6})})),
            (std::vector<std::int64_t>{32}));
}

TEST(Linear, errors_show_the_equation_or_both_shapes) {
  const Tensor a = zeros({4, 3});
  EXPECT_EQ(
      error_of([&] { einsum("ij,jk->ik", {a}); }),
      "einsum: 'ij,jk->ik' names 2 operands and there are 1; write one list of letters for each");
  EXPECT_EQ(
      error_of([&] { einsum("ij->iz", {a}); }),
      "einsum: 'ij->iz' has 'z' after the arrow and no operand has it; name it before, or leave "
      "it out");
  EXPECT_EQ(error_of([&] { einsum("ij->ii", {a}); }),
            "einsum: 'ij->ii' has 'i' 2 times after the arrow; write it once");
  EXPECT_EQ(error_of([&] {
              einsum("ij,jk->ik", {a, a});
            }),
            "einsum: 'ij,jk->ik' has 'j' for sizes 3 and 4; make them equal, or one of them 1");
  EXPECT_EQ(
      error_of([&] { einsum("i", {a}); }),
      "einsum: 'i' names 1 dimensions in 'i' and operand 0 has shape [4, 3]; write a letter for "
      "each dimension");
  EXPECT_EQ(error_of([&] { einsum("i$", {a}); }),
            "einsum: 'i$' has '$' in 'i$'; write letters, and '...' at most once in each list");
  EXPECT_EQ(error_of([&] { einsum("ii", {a}); }),
            "einsum: 'ii' has 'i' twice in one operand, for sizes 4 and 3; make them equal");
  EXPECT_EQ(
      error_of([&] {
        addmm(zeros({5}), a, zeros({3, 2}));
      }),
      "addmm: input of shape [5] does not broadcast to the product's shape [4, 2]; make its sizes "
      "equal, or 1");
  EXPECT_EQ(error_of([&] { addmm(zeros({2}), a, a); }),
            "addmm: mat1 of shape [4, 3] and mat2 of shape [4, 3] do not fit (3 columns against 4 "
            "rows); transpose one, or make the inner sizes equal");
  EXPECT_EQ(
      error_of([&] {
        addmm(zeros({2}, i64), zeros({4, 3}, i64), zeros({3, 2}, i64), 0.5);
      }),
      "addmm: beta is 0.5 and the tensors are int64; give a whole number, or cast the tensors");
  EXPECT_EQ(
      error_of([&] {
        linear(a, zeros({2, 4}));
      }),
      "linear: input of shape [4, 3] has 3 features and weight of shape [2, 4] takes 4; make them "
      "equal");
  EXPECT_EQ(
      error_of([&] {
        linear(a, zeros({2, 3}), zeros({3}));
      }),
      "linear: bias of shape [3] does not broadcast to the product's shape [2]; make its sizes "
      "equal, or 1");
}

}  // namespace
}  // namespace bp
