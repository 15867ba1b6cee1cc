#include "decompositions/special.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/promotion.hpp>

#include "rules/decompositions.hpp"

namespace bp {
namespace {

constexpr double half_turn = 3.14159265358979323846,
                 endless = std::numeric_limits<double>::infinity();

// lgamma(2 + e) / e as a polynomial of 2 * e, for e from -1/2 to 1/2; interpolated in Chebyshev's points, with a relative
// error of 1e-16.
constexpr double lgamma_terms[] = {
    -5.043009058425092e-13,  2.126623574915764e-12,  -6.599791480347414e-12,
    2.807778288259308e-11,   -1.247500494813837e-10, 5.352422368894483e-10,
    -2.3043738035184404e-09, 1.0012495486246804e-08, -4.3873352909331736e-08,
    1.9425326866834958e-07,  -8.716982578328323e-07, 3.981793089152702e-06,
    -1.8636779872543994e-05, 9.032844784482085e-05,  -0.0004615969392919999,
    0.0025726010534725475,   -0.016838075263299526,  0.16123351671205663,
    0.42278433509846713};

// digamma(x) / (x - root) as a polynomial of 2 * x - 3, for x from 1 to 2; found in the same way.
constexpr double digamma_terms[] = {
    -8.25512972008104e-11,   2.4765474440031764e-10, -2.889363639216111e-10,  8.668257373761658e-10,
    -3.6788868183645545e-09, 1.10370884388543e-08,   -3.166618072027162e-08,  9.500926192924096e-08,
    -2.8628755280038686e-07, 8.591324222417666e-07,  -2.578107848270217e-06,  7.741156881253708e-06,
    -2.325823828431376e-05,  6.995020484160625e-05,  -0.00021074841215733007, 0.000636888028319074,
    -0.0019350666647832667,  0.005936795278433826,   -0.018550615381738605,   0.06013562106019355,
    -0.21181371064073026,    0.951055876031833};

// digamma's positive root, the first part with float32's digits.
constexpr double root_high = 1.46163213253021240234375, root_low = 1.2438149938918909542e-8;

// Stirling's series: Bernoulli's numbers B(2k) / (2k (2k - 1)), those / 2k, and those / (2k)!.
constexpr double stirling_terms[] = {-3617.0 / 122400, 1.0 / 156,  -691.0 / 360360, 1.0 / 1188,
                                     -1.0 / 1680,      1.0 / 1260, -1.0 / 360,      1.0 / 12};
constexpr double digamma_far_terms[] = {-3617.0 / 8160, 1.0 / 12,  -691.0 / 32760, 1.0 / 132,
                                        -1.0 / 240,     1.0 / 252, -1.0 / 120,     1.0 / 12};
constexpr double zeta_terms[] = {1.0 / 12,
                                 -1.0 / 720,
                                 1.0 / 30240,
                                 -1.0 / 1209600,
                                 1.0 / 47900160,
                                 -691.0 / 1307674368000,
                                 1.0 / 74724249600,
                                 -3617.0 / 10670622842880000,
                                 43867.0 / 5109094217170944000};

// What is left of x after whole numbers, between -1/2 and 1/2.
Tensor after_whole(const Tensor& x) {
  return sub(x, round(x));
}

// Of x from -1/2 on. Up to 8 by factors that lead to 1.5 up to 2.5, beyond by Stirling's series.
Tensor lgamma_to_the_right(const Tensor& x) {
  const Tensor bounded = minimum(x, 8.0);
  Tensor product = full_like(x, 1.0), rest = bounded;
  for (int k = 1; k <= 6; ++k) {
    const Tensor less = sub(bounded, k), goes_on = ge(less, 1.5);
    product = where(goes_on, mul(product, less), product);
    rest = where(goes_on, less, rest);
  }
  const Tensor is_below = lt(x, 0.5), is_first = lt(x, 1.5);
  const Tensor e = where(is_below, x, where(is_first, sub(x, 1), sub(rest, 2)));
  const Tensor factor =
      where(is_below, abs(mul(bounded, add(bounded, 1))), where(is_first, bounded, product));
  const Tensor power = log(factor);
  const Tensor near =
      add(mul(e, polynomial(mul(e, 2), lgamma_terms)), where(is_first, neg(power), power));
  const Tensor large = maximum(x, 8.0);
  const Tensor far = add(mul(sub(large, 0.5), sub(log(large), 1)),
                         add(stirling_correction(large), 0.4189385332046727418));
  return where(lt(x, 8), near, far);
}

// Of x above 0. The terms 1 / (x - k) lead to 1 up to 2, where the root is.
Tensor digamma_to_the_right(const Tensor& x) {
  const Tensor bounded = minimum(x, 8.0), is_first = lt(x, 1);
  Tensor sum = where(is_first, div(-1, x), 0), rest = where(is_first, add(x, 1), bounded);
  for (int k = 1; k <= 6; ++k) {
    const Tensor less = sub(bounded, k), goes_on = ge(less, 1);
    sum = where(goes_on, add(sum, div(1, less)), sum);
    rest = where(goes_on, less, rest);
  }
  const Tensor from_root = sub(sub(rest, root_high), root_low);
  const Tensor near = add(mul(from_root, polynomial(sub(mul(rest, 2), 3), digamma_terms)), sum);
  const Tensor large = maximum(x, 8.0);
  const Tensor inverse = div(div(1, large), large);
  const Tensor far =
      sub(sub(log(large), div(0.5, large)), mul(polynomial(inverse, digamma_far_terms), inverse));
  return where(lt(x, 8), near, far);
}

// The derivatives of cot(pi * x) by x, as polynomials of it, the highest term first.
std::vector<double> cotangent_derivative(std::int64_t n) {
  std::vector<double> terms{0, 1};  // here the lowest comes first
  for (std::int64_t i = 0; i < n; ++i) {
    std::vector<double> next(terms.size() + 1);
    for (std::size_t k = 1; k < terms.size(); ++k) {
      const double slope = -half_turn * static_cast<double>(k) * terms[k];
      next[k - 1] += slope;
      next[k + 1] += slope;
    }
    terms = std::move(next);
  }
  return {terms.rbegin(), terms.rend()};
}

struct Spacing {
  double unit,
      smallest;  // half the distance from 1 to the next number, and the smallest number above 0
  double largest;
};
Spacing spacing_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16: return {0x1p-11, 0x1p-24, 65504};
    case Dtype::bf16: return {0x1p-8, 0x1p-133, 0x1.FEp127};
    case Dtype::f32: return {0x1p-24, 0x1p-149, std::numeric_limits<float>::max()};
    default: return {0x1p-53, 0x1p-1074, std::numeric_limits<double>::max()};
  }
}

}  // namespace

Tensor as_computed(const char* op, const Tensor& input) {
  BP_CHECK(!is_complex(input.dtype()), "{}: input is {}; pass real numbers", op,
           name(input.dtype()));
  return is_floating(input.dtype()) ? widened(input) : cast(input, default_dtype());
}

Tensor as_given(const Tensor& result, const Tensor& input) {
  return is_floating(input.dtype()) ? in_dtype(result, input.dtype()) : result;
}

Tensor zeta_to_the_right(const Tensor& s, const Tensor& q) {
  constexpr int count = 10;
  const Tensor power = neg(s);
  Tensor sum = pow(q, power);
  for (int k = 1; k < count; ++k) sum = add(sum, pow(add(q, k), power));
  const Tensor end = add(q, count);
  const Tensor bounded = minimum(s, 1e4);  // what follows is 0 from there on
  const Tensor rest = pow(end, power);
  sum = add(sum, add(div(pow(end, sub(1, s)), sub(bounded, 1)), mul(rest, 0.5)));
  Tensor factor = mul(div(rest, end), bounded);
  for (std::size_t j = 0; j < std::size(zeta_terms); ++j) {
    sum = add(sum, mul(factor, zeta_terms[j]));
    const double k = static_cast<double>(2 * j);
    factor = mul(mul(factor, div(add(bounded, k + 1), end)), div(add(bounded, k + 2), end));
  }
  return sum;
}

Tensor stirling_correction(const Tensor& x) {
  return div(polynomial(div(div(1, x), x), stirling_terms), x);
}

// By gamma(2 + a), whose logarithm has its digits where it is nearly 0.
Tensor lgamma_of_one_more(const Tensor& a) {
  const Tensor is_small = lt(a, 0.5), small = where(is_small, a, 0);
  const Tensor near = sub(mul(small, polynomial(mul(small, 2), lgamma_terms)), log1p(small));
  return where(is_small, near, lgamma(add(a, 1)));
}

// To the left by the reflection gamma(x) * gamma(-x) = -pi / (x * sin(pi * x)).
Tensor lgamma_by_series(const Tensor& input) {
  const Tensor x = as_computed("lgamma", input);
  const Tensor turns_back = lt(x, -0.5), rest = after_whole(x);
  const Tensor right = lgamma_to_the_right(where(turns_back, neg(x), x));
  const Tensor area = abs(mul(x, sin(mul(rest, half_turn))));
  const Tensor is_pole = logical_or(eq(rest, 0), eq(x, -endless));
  const Tensor left = where(is_pole, endless, sub(log(div(half_turn, area)), right));
  return as_given(where(turns_back, left, right), input);
}

Tensor digamma_by_series(const Tensor& input) {
  const Tensor x = as_computed("digamma", input);
  const Tensor turns_back = lt(x, 0), rest = after_whole(x);
  const Tensor right = digamma_to_the_right(where(turns_back, sub(1, x), x));
  const Tensor slope = tan(mul(rest, half_turn));
  const Tensor left = where(eq(rest, 0), std::nan(""), sub(right, div(half_turn, slope)));
  return as_given(where(turns_back, left, where(eq(x, 0), div(-1, x), right)), input);
}

// To the left by the derivatives of digamma's reflection.
Tensor polygamma_by_zeta(std::int64_t n, const Tensor& input) {
  // The factorial of more leaves the range.
  BP_CHECK(n >= 0 && n <= 170, "polygamma: n is {}; pass 0 to 170", n);
  if (n == 0) return digamma_by_series(input);
  const Tensor x = as_computed("polygamma", input);
  const Tensor turns_back = lt(x, 0), rest = after_whole(x);
  const Tensor order = full({}, static_cast<double>(n + 1), x.dtype(), x.device());
  const double factor = (n % 2 == 0 ? -1 : 1) * std::tgamma(static_cast<double>(n + 1));
  const Tensor right = mul(zeta_to_the_right(order, where(turns_back, sub(1, x), abs(x))), factor);
  const Tensor cotangent = div(1, tan(mul(rest, half_turn)));
  const Tensor reflected = mul(polynomial(cotangent, cotangent_derivative(n)), -half_turn);
  const Tensor left = n % 2 == 0 ? add(reflected, right) : sub(reflected, right);
  const Tensor pole = where(eq(rest, 0), factor * endless, left);
  return as_given(where(turns_back, pole, right), input);
}

Tensor multigammaln_by_sum(const Tensor& input, std::int64_t p) {
  BP_CHECK(p >= 1 && p <= 1024, "multigammaln: p is {}; pass 1 to 1024", p);
  const Tensor x = as_computed("multigammaln", input);
  Tensor sum = lgamma(x);
  for (std::int64_t j = 1; j < p; ++j) sum = add(sum, lgamma(sub(x, static_cast<double>(j) * 0.5)));
  const double pairs = static_cast<double>(p * (p - 1));
  return as_given(add(sum, pairs * 0.25 * std::log(half_turn)), input);
}

// A number's neighbour, by a sum that is rounded to it: Rump, Zimmermann, Boldo and Melquiond, "Computing predecessor and
// successor in rounding to nearest", 2009.
Tensor nextafter_by_sum(const Tensor& input, const Tensor& other) {
  BP_CHECK(input.dtype() == other.dtype() && is_floating(input.dtype()),
           "nextafter: input is {} and other is {}; cast both to one floating dtype",
           name(input.dtype()), name(other.dtype()));
  const auto [unit, smallest, largest] = spacing_of(input.dtype());
  const double share =
      unit * 1.125;  // of a number: more than half, and less than three halves of a step
  const Tensor goes_up = gt(other, input), size = abs(input);
  const auto moved = [&](const Tensor& from, const Tensor& step) {
    return where(goes_up, add(from, step), sub(from, step));
  };
  const Tensor usual = moved(input, mul(size, share));
  const Tensor least = where(goes_up, add(input, smallest), sub(input, smallest));
  const Tensor raised = mul(input, 1 / unit);
  const Tensor lowered = mul(moved(raised, mul(abs(raised), share)), unit);
  Tensor next = where(ge(size, smallest / unit / unit / 2), usual,
                      where(lt(size, smallest / unit), least, lowered));
  next = where(eq(next, 0), mul(input, 0), next);
  next = where(eq(size, endless), where(gt(input, 0), full_like(input, largest), -largest), next);
  const Tensor is_nan = logical_or(ne(input, input), ne(other, other));
  return where(is_nan, add(input, other), where(eq(input, other), other, next));
}

}  // namespace bp
