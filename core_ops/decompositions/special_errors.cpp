// The inverse of erf, what is made of erfc, and Bessel functions.
#include <array>
#include <cmath>
#include <limits>

#include <backplane/core_ops/creation.hpp>

#include "decompositions/special.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

constexpr double root_half = 0.70710678118654752440, two_by_root_pi = 1.1283791670955125739,
                 no_end = std::numeric_limits<double>::infinity();

// sqrt(x) * exp(-x) * I(x) as a polynomial of 16 / x - 1, for x from 8 on, of the orders 0 and 1; interpolated in Chebyshev's
// points, with a relative error of 1e-16.
constexpr double bessel_far_terms[2][23] = {
    {1.0881994785468934e-10,  3.525321019700796e-11,  -7.473844621887592e-10,
     -2.748111637276033e-10,  2.3981927228949238e-09, 1.0924527246468664e-09,
     -4.8482509221176966e-09, -3.11851456121224e-09,  6.789790403895736e-09,
     7.323310735122893e-09,   -5.162517880939013e-09, -1.331979859201994e-08,
     -6.805980075129678e-09,  7.532386417555123e-09,  2.155681110989874e-08,
     3.932926571091252e-08,   8.872154618944625e-08,  2.9735956581528157e-07,
     1.4838475863096976e-06,  1.1143033802583682e-05, 0.00013621607439187193,
     0.0033605519836677235,   0.4021765094450081},
    {-1.13288885034257e-10,   -3.2677656089803323e-11, 7.79067217908059e-10,
     2.582169443152386e-10,   -2.5062162405593894e-09, -1.0476127785270019e-09,
     5.094016301574338e-09,   3.0717395650769477e-09,  -7.222524178953976e-09,
     -7.432535335623792e-09,  5.722677527454156e-09,   1.3952625102162603e-08,
     6.795073490187386e-09,   -8.407326839577817e-09,  -2.3382691353601083e-08,
     -4.31323156237458e-08,   -1.0001220638799958e-07, -3.483853071371078e-07,
     -1.8349101539664522e-06, -1.503854721127423e-05,  -0.000219235763833829,
     -0.009749577193235609,   0.38939845902587233}};

// The series of erfcx for large x, of 1 / x^2: (-1)^k (2k - 1)!! / 2^k.
constexpr double erfcx_far_terms[] = {-135135.0 / 128, 10395.0 / 64, -945.0 / 32, 105.0 / 16,
                                      -15.0 / 8,       3.0 / 4,      -0.5,        1.0};

// Of x from 0.46 on.
Tensor erfcx_to_the_right(const Tensor& x) {
  const Tensor large = maximum(x, 28.0);
  const Tensor far =
      mul(div(polynomial(div(div(1, large), large), erfcx_far_terms), large), two_by_root_pi / 2);
  return where(gt(x, 28), far, scaled_erfc(minimum(x, 28.0)));
}

// exp(x^2), with the square in parts of which the first is exact.
Tensor exp_of_square(const Tensor& x) {
  const Tensor coarse = mul(floor(mul(x, 16)), 0.0625);
  return mul(exp(mul(coarse, coarse)), exp(mul(sub(x, coarse), add(x, coarse))));
}

// erf's inverse of `part` from 0 up to 1/2: its series to begin with, and two steps of Halley's.
Tensor erfinv_near(const Tensor& part) {
  constexpr double terms[] = {0.06495962, 0.08655213, 0.12755618, 0.23201367, 0.88622693};
  Tensor y = mul(part, polynomial(mul(part, part), terms));
  for (int i = 0; i < 2; ++i) {
    const Tensor step = div(sub(erf(y), part), mul(exp(neg(mul(y, y))), two_by_root_pi));
    y = sub(y, div(step, add(mul(step, y), 1)));
  }
  return y;
}

// erfc's inverse of `part` from 0, which it is not, to 1/2: by Abramowitz and Stegun, 26.2.23, to begin with, and two steps of
// Halley's with logarithms, which do not underflow.
Tensor erfcinv_far(const Tensor& part) {
  const Tensor wanted = log(part);
  const Tensor t = sqrt(mul(sub(wanted, 0.69314718055994530942), -2));
  constexpr double above[] = {0.010328, 0.802853, 2.515517};
  constexpr double below[] = {0.001308, 0.189269, 1.432788, 1.0};
  Tensor y = mul(sub(t, div(polynomial(t, above), polynomial(t, below))), root_half);
  for (int i = 0; i < 2; ++i) {
    const Tensor scaled = scaled_erfc(y), slope = div(two_by_root_pi, scaled);
    const Tensor excess = sub(sub(log(scaled), mul(y, y)), wanted);
    const Tensor step = div(excess, neg(slope));
    const Tensor bend = sub(mul(slope, 0.5), y);
    y = sub(y, div(step, sub(1, mul(step, bend))));
  }
  return y;
}

// erf's inverse of 1 - `rest`, where `part` is that difference, and both lie between 0 and 1.
Tensor erfinv_of_parts(const Tensor& part, const Tensor& rest) {
  const double least = part.dtype() == f64 ? 0x1p-1074 : 0x1p-149;
  const Tensor far = erfcinv_far(maximum(minimum(rest, 0.5), least));
  const Tensor found = where(lt(part, 0.5), erfinv_near(minimum(part, 0.5)), far);
  return where(eq(rest, 0), no_end, found);
}

}  // namespace

// Every term is positive, so that none takes digits off.
Tensor modified_bessel_near(const Tensor& x, int order) {
  std::array<double, 25> terms{};
  double term = 1;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    if (k > 0) term /= static_cast<double>(k) * (static_cast<double>(k) + order);
    terms[terms.size() - 1 - k] = term;
  }
  const Tensor half = mul(x, 0.5), sum = polynomial(mul(half, half), terms);
  return order == 0 ? sum : mul(half, sum);
}

Tensor erfinv_by_steps(const Tensor& input) {
  const Tensor x = as_computed("erfinv", input), size = abs(x);
  const Tensor found = erfinv_of_parts(size, sub(1, size));
  const Tensor is_outside = gt(size, 1);
  const Tensor sided = where(eq(x, 0), x, where(lt(x, 0), neg(found), found));
  return as_given(where(is_outside, std::nan(""), sided), input);
}

// The smaller one of `input` and 1 - input keeps its digits.
Tensor ndtri_by_steps(const Tensor& input) {
  const Tensor p = as_computed("ndtri", input);
  const Tensor is_low = lt(p, 0.5);
  const Tensor rest = mul(where(is_low, p, sub(1, p)), 2);
  const Tensor part = mul(abs(sub(p, 0.5)), 2);
  const Tensor found = mul(erfinv_of_parts(part, rest), 2 * root_half);
  const Tensor is_outside = logical_or(lt(p, 0), gt(p, 1));
  return as_given(where(is_outside, std::nan(""), where(is_low, neg(found), found)), input);
}

Tensor erfcx_by_series(const Tensor& input) {
  const Tensor x = as_computed("erfcx", input), size = abs(x);
  const Tensor inner = minimum(maximum(x, -0.46), 0.46);
  const Tensor near = mul(exp(mul(inner, inner)), erfc(inner));
  const Tensor right = erfcx_to_the_right(maximum(size, 0.46));
  const Tensor left = sub(mul(exp_of_square(minimum(size, 28.0)), 2), right);
  return as_given(where(lt(size, 0.46), near, where(lt(x, 0), left, right)), input);
}

Tensor log_ndtr_by_erfcx(const Tensor& input) {
  const Tensor x = as_computed("log_ndtr", input);
  const Tensor turned = mul(x, -root_half);
  const Tensor near = log1p(mul(erfc(neg(turned)), -0.5));
  const Tensor far =
      sub(log(mul(erfcx_to_the_right(maximum(turned, 0.5)), 0.5)), mul(mul(x, x), 0.5));
  return as_given(where(lt(x, -1), far, near), input);
}

// exp of the half, twice, does not overflow before the result does.
Tensor bessel_by_series(const Tensor& input, int order, bool scaled) {
  const Tensor x = as_computed(order == 0 ? "i0" : "i1", input), size = abs(x);
  const Tensor small = minimum(size, 8.0), large = maximum(size, 8.0);
  const auto scaled_at = [&](const Tensor& at) {
    return div(polynomial(sub(div(16, at), 1), bessel_far_terms[order]), sqrt(at));
  };
  Tensor near = modified_bessel_near(small, order), far;
  if (scaled) {
    near = mul(near, exp(neg(small)));
    far = scaled_at(large);
  } else {
    const Tensor bounded = minimum(large, 1000.0), root = exp(mul(bounded, 0.5));
    far = mul(mul(scaled_at(bounded), root), root);
  }
  const Tensor result = where(lt(size, 8), near, far);
  return as_given(order == 0 ? result : where(lt(x, 0), neg(result), result), input);
}

}  // namespace bp
