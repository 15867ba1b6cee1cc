// needs: cpu
// Products, variances, norms and their like against values that PyTorch 2 gave, and where it is exact,
// against what must be.
#include <limits>

#include "core_ops/peer_values.hpp"

namespace bp {
namespace {

using test::error_of;
using test::expect_peer;
using test::expect_values;
using test::Leaves;
using test::sines;

constexpr double infinite = std::numeric_limits<double>::infinity();

// One zero in the first row, two in the second.
Tensor sines_with_zeros() {
  return test::computed(
      {4, 6}, [](int i) { return i == 1 || i == 8 || i == 10 ? 0 : std::sin(1.3 * i + 0.2) * 2; });
}

TEST(Statistics, products_and_their_gradients_are_pytorchs_with_zeros_too) {
  const auto along_rows = [](Leaves in) { return prod(in[0], 1); };
  expect_peer(along_rows, {sines()},
              {1.0876585711384608, 2.488073604671803, 0.4807819827267271, 4.386747449663726},
              {10.184641280943005});
  expect_peer(along_rows, {sines_with_zeros()}, {0, 0, 0.4807819827267271, 4.386747449663726},
              {2.289615198182612});
}

TEST(Statistics, products_of_any_length_are_exact_in_integers) {
  for (std::int64_t count = 1; count <= 21; ++count) {
    const Tensor numbers = arange(1, count + 1);
    std::int64_t expected = 1;
    for (std::int64_t i = 2; i <= count; ++i)
      expected = static_cast<std::int64_t>(static_cast<std::uint64_t>(expected) *
                                           static_cast<std::uint64_t>(i));
    EXPECT_EQ(item<std::int64_t>(prod(numbers)), expected) << count;
  }
  EXPECT_EQ(name(prod(zeros({2}, i8)).dtype()), name(i64));
  EXPECT_EQ(item<float>(prod(zeros({0}))), 1.0f);
  EXPECT_EQ(to_string(prod(zeros({2, 3, 4}), {0, 2}, true).shape()), "[1, 3, 1]");
}

TEST(Statistics, a_product_can_be_differentiated_twice_through_zeros) {
  // d2(xyz)/dxdy = z, whatever x and y are.
  const Tensor a = tensor(std::vector<double>{0, 0, 3});
  set_requires_grad(a);
  autograd::BackwardOptions recorded;
  recorded.create_graph = true;
  const Tensor first = autograd::grad({prod(a)}, {a}, {}, recorded)[0];
  expect_values(detach(first), {0, 0, 0});
  expect_values(autograd::grad({select(first, 0, 0)}, {a})[0], {0, 3, 0});
}

TEST(Statistics, variances_are_pytorchs) {
  expect_peer([](Leaves in) { return var(in[0], 0); }, {sines()},
              {2.697271860083651, 2.706553817311615, 2.552510649708718, 2.8072244081852524,
               2.524744865854393, 2.7541381931381004},
              {-0.08252627682290842});
  expect_peer([](Leaves in) { return bp::std(in[0], {}, 0); }, {sines()}, {1.4170671094984912},
              {0.09306162940274332});
}

TEST(Statistics, a_deviation_of_zero_has_a_gradient_of_zero) {
  expect_peer([](Leaves in) { return bp::std(in[0], 1); }, {ones({2, 3}, f64)}, {0, 0}, {0});
}

TEST(Statistics, a_variance_far_from_zero_keeps_its_digits) {
  const Tensor far = test::computed({1000}, [](int i) { return 1e9 + i % 2; });
  expect_values(var(far, {}, 0), {0.25});
  EXPECT_TRUE(std::isnan(item<float>(var(ones({1})))));
  EXPECT_TRUE(std::isnan(item<float>(var(ones({0})))));
  EXPECT_EQ(item<double>(var(tensor(std::vector<double>{1, 2}), {}, 3)), infinite);
  EXPECT_EQ(item<double>(var(tensor(std::vector<double>{1, 2}), {}, 1.5)), 1);
  EXPECT_EQ(item<double>(std(tensor(std::vector<double>{1, 2}), {}, 1.875)), 2);
  EXPECT_EQ(item<double>(var(tensor(std::vector<double>{1, 2}), {}, 2.5)), infinite);
  EXPECT_EQ(error_of([] { var(ones({2}), {}, std::complex<double>(1, 2)); }),
            "var: 'correction' is 1 + 2i; pass a real number");
}

TEST(Statistics, sums_of_exponentials_do_not_overflow) {
  expect_peer([](Leaves in) { return logsumexp(in[0], 1); }, {sines() * 100.0},
              {199.4989973208109, 197.87166791912435, 167.33112774793537, 175.17621596217788},
              {0.8360565190137729});
  EXPECT_EQ(item<double>(logsumexp(tensor(std::vector<double>{infinite, 1}))), infinite);
  EXPECT_EQ(item<double>(logsumexp(tensor(std::vector<double>{-infinite, -infinite}))), -infinite);
  EXPECT_EQ(item<float>(logsumexp(zeros({0}))), -std::numeric_limits<float>::infinity());
  EXPECT_NEAR(item<float>(logsumexp(tensor({1, 2}))), 2.3132617f, 1e-6f);
}

TEST(Statistics, norms_of_any_power_are_pytorchs) {
  struct Case {
    double p;
    std::vector<double> norms;
    double gradient_sum;
  };
  const Case cases[] = {
      {0, {5, 4, 6, 6}, 0},
      {1,
       {5.059098000375924, 5.333689675784323, 6.805462280160946, 8.54905648536878},
       2.875925149345843},
      {2,
       {2.5158158960355457, 3.000293917643008, 3.1767453928823217, 3.7395628325934265},
       1.0452712309794823},
      {3,
       {2.077712488844708, 2.5297365303968014, 2.5505727366669486, 2.90248320079373},
       0.9058971654779582},
      {0.5,
       {23.728335397043445, 19.226976285776082, 36.762394695754246, 48.88767764310595},
       19.916584945226433},
      {1.5,
       {3.1318501965086565, 3.602952292060965, 4.043748950421177, 4.888621215249565},
       1.4077934611346716},
      {infinite,
       {1.6365542221288216, 1.9787164932467636, 1.9681300101632868, 1.9985519842732553},
       1.672389299830641},
      {-infinite, {0, 0, 0.18381370045536327, 0.46129141185479133}, 1.078660131224157},
  };
  for (const Case& expected : cases)
    expect_peer([&](Leaves in) { return norm(in[0], expected.p, 1); }, {sines_with_zeros()},
                expected.norms, {expected.gradient_sum});
}

TEST(Statistics, norms_have_subgradients_where_they_have_no_gradient) {
  for (double p : {1.0, 2.0, 3.0, 0.5}) {
    const Tensor a = zeros({3}, f64);
    set_requires_grad(a);
    expect_values(autograd::grad({norm(a, p)}, {a})[0], {0, 0, 0});
  }
  const Tensor tied = tensor(std::vector<double>{3, -3, 1});
  set_requires_grad(tied);
  expect_values(autograd::grad({norm(tied, infinite)}, {tied})[0], {0.5, -0.5, 0});
}

TEST(Statistics, the_smallest_is_found_in_all_integers) {
  const std::vector<std::int8_t> bytes = {2, -128, 5, -128};
  const std::vector<std::uint8_t> positive = {2, 0, 255, 0};
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(item<int>(argmin(tensor(bytes))), 1);
  EXPECT_EQ(item<int>(argmin(tensor(positive))), 1);
  EXPECT_EQ(item<int>(argmin(tensor(std::vector<std::int64_t>{0, lowest, -(lowest + 1)}))), 1);
  EXPECT_EQ(item<int>(argmin(tensor({1.0, std::nan(""), 0.0}))), 1);
  EXPECT_EQ(to_vector<std::int64_t>(argmin(tensor({{1, 5}, {7, 2}}), 1)),
            (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(to_string(argmin(zeros({2, 3}), 1, true).shape()), "[2, 1]");
}

TEST(Statistics, any_and_all_take_nan_for_true_and_nothing_for_what_it_says) {
  const Tensor a = tensor({{0.0, std::nan(""), -0.0}, {1.0, 2.0, 3.0}, {0.0, 0.0, 0.0}});
  EXPECT_EQ(to_vector<std::int64_t>(to(any(a, 1), i64)), (std::vector<std::int64_t>{1, 1, 0}));
  EXPECT_EQ(to_vector<std::int64_t>(to(all(a, 1), i64)), (std::vector<std::int64_t>{0, 1, 0}));
  EXPECT_EQ(name(any(zeros({2}, u8)).dtype()), name(boolean));
  EXPECT_FALSE(item<bool>(any(zeros({0}))));
  EXPECT_TRUE(item<bool>(all(zeros({0}))));
  EXPECT_TRUE(item<bool>(any(tensor({0, 256, 0}))));
  EXPECT_EQ(to_string(all(zeros({2, 0, 3}), 1).shape()), "[2, 3]");
}

TEST(Statistics, errors_name_the_dtype_or_the_shape) {
  EXPECT_EQ(
      error_of([] { var(zeros({2}, i64)); }),
      "var: not defined for int64; cast to one of float16, bfloat16, float32, float64, complex");
  EXPECT_EQ(
      error_of([] { norm(zeros({0}), infinite); }),
      "norm: no elements along dimensions [0] of shape [0]; the norm of nothing is only defined "
      "for p from 0 up to, without, inf, not for inf");
  EXPECT_EQ(
      error_of([] { argmin(zeros({0})); }),
      "argmin: no elements to choose from in shape [0]; the argmin of nothing is not defined");
  EXPECT_EQ(error_of([] {
              prod(zeros({2}), {0, 0});
            }),
            "prod: dimension 0 is twice in [0, 0]; list each once");
  EXPECT_EQ(item<float>(norm(zeros({0}))), 0.0f);
}

}  // namespace
}  // namespace bp
