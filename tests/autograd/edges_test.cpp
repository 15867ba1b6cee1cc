// needs: cpu
// Derivatives where a factor of the rule is infinite or NaN, where two arguments are equal, and of NaN itself: what
// PyTorch 2.15 gives.
#include <cmath>
#include <limits>

#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Element by element; NaN is NaN.
void expect_values(const Tensor& got, const Values& wanted, const char* what) {
  const Values found = values_of(got);
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (std::isnan(wanted[i]))
      EXPECT_TRUE(std::isnan(found[i])) << what << " " << i << ": " << found[i];
    else if (std::isinf(wanted[i]) || wanted[i] == 0)
      EXPECT_EQ(found[i], wanted[i]) << what << " " << i;
    else
      EXPECT_NEAR(found[i], wanted[i], 1e-12 * std::abs(wanted[i])) << what << " " << i;
  }
}

using OfOneTensor = std::function<Tensor(const Tensor&)>;

// The first derivative of sum(f(x)), weighted, and the second of its sum.
void expect_derivatives(const char* what, const OfOneTensor& f, const Values& at,
                        const Values& first, const Values& second = {}, double weight = 1) {
  const Tensor x = leaf(at), y = f(x);
  const Tensor once = autograd::grad({y}, {x}, {full(y.shape(), weight, f64)},
                                     {.create_graph = !second.empty()})[0];
  expect_values(once, first, what);
  if (!second.empty()) expect_values(derivative(once, x), second, what);
}

TEST(Edges, powers_of_zero_have_finite_derivatives_where_they_exist) {
  const Values at = {0, 1, -1};
  const auto power = [](double exponent) {
    return [=](const Tensor& x) { return pow(x, exponent); };
  };
  expect_derivatives("x^0", power(0), at, {0, 0, 0}, {0, 0, 0});
  expect_derivatives("x^1", power(1), at, {1, 1, 1}, {0, 0, 0});
  expect_derivatives("x^2", power(2), at, {0, 2, -2}, {2, 2, 2});
  expect_derivatives("x^3", power(3), at, {0, 3, 3}, {0, 6, -6});
  expect_derivatives("x^1.5", power(1.5), {0, 1}, {0, 1.5}, {infinity, 0.75});
  expect_derivatives("x^0.5", power(0.5), {0, 1}, {infinity, 0.5}, {-infinity, -0.25});
  expect_derivatives("x^-1", power(-1), at, {-infinity, -1, -1}, {infinity, 2, -2});
  expect_derivatives("x^0 of nan", power(0), {nan, infinity}, {0, 0}, {0, 0});
  expect_derivatives("x^0 by inf", power(0), {0, 1}, {0, 0}, {}, infinity);
  const Tensor exponents = tensor(Values{0, 1, 2, 3});
  expect_derivatives("x^[0, 1, 2, 3]", [&](const Tensor& x) { return pow(x, exponents); },
                     {0, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 2, 0});
}

TEST(Edges, exponents_of_zero_and_one) {
  const Values at = {0, 1, 2, 0.5, -1, nan};
  expect_derivatives("0^x", [](const Tensor& x) { return pow(0.0, x); }, at,
                     {0, 0, 0, 0, -infinity, nan});
  expect_derivatives("1^x", [](const Tensor& x) { return pow(1.0, x); }, at, {0, 0, 0, 0, 0, 0});
}

TEST(Edges, extrema_share_what_is_equal_and_give_to_both_beside_nan) {
  const Values at = {nan, 1, 2, 2, infinity, -infinity};
  const Tensor other = tensor(Values{1, nan, 2, 3, infinity, -infinity});
  expect_derivatives("maximum", [&](const Tensor& x) { return maximum(x, other); }, at,
                     {1, 1, 0.5, 0, 0.5, 0.5});
  expect_derivatives("maximum's second", [&](const Tensor& x) { return maximum(other, x); }, at,
                     {1, 1, 0.5, 0, 0.5, 0.5});
  expect_derivatives("minimum", [&](const Tensor& x) { return minimum(x, other); }, at,
                     {1, 1, 0.5, 1, 0.5, 0.5});
  expect_derivatives("minimum's second", [&](const Tensor& x) { return minimum(other, x); }, at,
                     {1, 1, 0.5, 1, 0.5, 0.5});
  expect_derivatives("minimum with nan", [](const Tensor& x) { return minimum(x, nan); }, {1, nan},
                     {1, 1});
}

TEST(Edges, bounds_and_steps) {
  const Values at = {0, 1, -1, 2, nan, infinity, -infinity};
  expect_derivatives("clamp", [](const Tensor& x) { return clamp(x, -1, 2); }, at,
                     {1, 1, 0, 0, 0, 0, 0});
  expect_derivatives("clamp_min", [](const Tensor& x) { return clamp_min(x, 1); }, at,
                     {0, 0, 0, 1, 0, 1, 0});
  expect_derivatives("clamp_max", [](const Tensor& x) { return clamp_max(x, 1); }, at,
                     {1, 0, 1, 0, 0, 0, 1});
  expect_derivatives("clamp_min of nan", [](const Tensor& x) { return clamp_min(x, nan); }, at,
                     {0, 0, 0, 0, 0, 0, 0});
  expect_derivatives("relu", [](const Tensor& x) { return relu(x); }, at, {0, 1, 0, 1, 1, 1, 0});
  expect_derivatives("abs", [](const Tensor& x) { return abs(x); }, at, {0, 1, -1, 1, 0, 1, -1});
  expect_derivatives("leaky_relu", [](const Tensor& x) { return leaky_relu(x, 0.5); }, at,
                     {0.5, 1, 0.5, 1, 0.5, 1, 0.5});
  for (const auto& step : {floor, ceil, trunc, round})
    expect_derivatives("a step", step, {1.5, nan}, {0, 0}, {}, infinity);
}

TEST(Edges, extrema_beside_nan_give_to_the_other) {
  const Tensor other = tensor(Values{1, 1, 1, nan, nan});
  const Values at = {1, 2, nan, 1, nan};
  expect_derivatives("fmax", [&](const Tensor& x) { return fmax(x, other); }, at,
                     {0.5, 1, 0, 1, 1});
  expect_derivatives("fmax's second", [&](const Tensor& x) { return fmax(other, x); }, at,
                     {0.5, 1, 0, 1, 0});
  expect_derivatives("fmin", [&](const Tensor& x) { return fmin(x, other); }, at,
                     {0.5, 0, 0, 1, 1});
}

TEST(Edges, bounded_activations_pass_nan_on) {
  expect_derivatives("relu6", [](const Tensor& x) { return relu6(x); }, {nan, 0, 6, 3},
                     {1, 0, 0, 1});
  expect_derivatives("hardtanh", [](const Tensor& x) { return hardtanh(x); }, {nan, -1, 1, 0.5},
                     {1, 0, 0, 1});
}

TEST(Edges, angles_are_flat_at_the_origin) {
  const Tensor other = tensor(Values{0, -1, 1e-200, 0});
  const Values at = {0, 0, 1e-200, 1};
  expect_derivatives("atan2", [&](const Tensor& x) { return atan2(x, other); }, at, {0, -1, 0, 0});
  expect_derivatives("atan2's second", [&](const Tensor& x) { return atan2(other, x); },
                     {0, 1, 1e-200, 1}, {0, 0.5, 0, 0});
  expect_derivatives("sinc", [](const Tensor& x) { return sinc(x); }, {0, 1e-200, 1},
                     {0, -3.2898681336964525e-200, -1});
}

// On both sides of the bound between the series and the quotient, against 60 digits.
TEST(Edges, sinc_keeps_its_digits_near_0) {
  const double at[] = {0, 1e-8, 1e-3, 0.0999, 0.1001, 0.25};
  const double first[] = {0.0,
                          -3.2898681336964526e-08,
                          -0.0032898648867278964,
                          -0.32543195527576435,
                          -0.32607056123669076,
                          -0.7728381398822342};
  const double second[] = {-3.289868133696453,  -3.289868133696452, -3.289858392793072,
                           -3.1932222798941146, -3.192837204040668, -2.703060757258859};
  const Tensor x = set_requires_grad(clone(tensor(std::vector<double>(at, at + 6))));
  const Tensor slope = autograd::grad({sum(sinc(x))}, {x}, {}, {.create_graph = true})[0];
  const Tensor bend = autograd::grad({sum(slope)}, {x})[0];
  const auto slopes = to_vector<double>(slope), bends = to_vector<double>(bend);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(slopes[i], first[i], 2e-14 * std::abs(first[i])) << at[i];
    EXPECT_NEAR(bends[i], second[i], 2e-12 * std::abs(second[i])) << at[i];
  }
}

TEST(Edges, logarithms_that_nobody_asks_for_do_no_harm) {
  const Tensor zero = tensor(Values{0}), less = tensor(Values{-1});
  expect_derivatives(
      "xlogy", [&](const Tensor& x) { return xlogy(x, zero); }, {2}, {0}, {}, 0);
  expect_derivatives(
      "xlog1py", [&](const Tensor& x) { return xlog1py(x, less); }, {2}, {0}, {}, 0);
}

TEST(Edges, quotients_keep_their_range) {
  const Tensor divisor = leaf({1e-180, 1e180, infinity}),
               quotient = tensor(Values{1e-200, 1e200, 1}) / divisor;
  expect_values(derivative(quotient, divisor), {-1e160, -1e-160, 0}, "div");
}

TEST(Edges, roots_and_logarithms_are_infinite_at_zero) {
  expect_derivatives("sqrt", [](const Tensor& x) { return sqrt(x); }, {0, 1}, {infinity, 0.5},
                     {-infinity, -0.25});
  expect_derivatives("log", [](const Tensor& x) { return log(x); }, {0, infinity}, {infinity, 0},
                     {-infinity, 0});
  expect_derivatives("rsqrt", [](const Tensor& x) { return rsqrt(x); }, {0, infinity},
                     {-infinity, 0});
}

TEST(Edges, deviations_of_equal_numbers_are_flat) {
  expect_derivatives("std", [](const Tensor& x) { return std(x); }, {1, 1}, {0, 0}, {0, 0});
}

}  // namespace
}  // namespace bp::test
