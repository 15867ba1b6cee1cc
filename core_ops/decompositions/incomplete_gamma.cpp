#include "decompositions/incomplete_gamma.hpp"

#include <array>
#include <cmath>
#include <limits>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/promotion.hpp>

#include "decompositions/special.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity(), a_is_large = 12;

// The series of eta / (x / a - 1) by eta, where eta^2 / 2 = x / a - 1 - log(x / a); the lowest term first. From contour
// integrals with 50 digits.
constexpr double uniform_terms[] = {1.0,
                                    -0.3333333333333333,
                                    0.08333333333333333,
                                    -0.014814814814814815,
                                    0.0011574074074074073,
                                    0.0003527336860670194,
                                    -0.0001787551440329218,
                                    3.919263178522438e-05,
                                    -2.185448510679992e-06,
                                    -1.85406221071516e-06,
                                    8.296711340953087e-07,
                                    -1.7665952736826078e-07,
                                    6.707853543401498e-09,
                                    1.0261809784240309e-08,
                                    -4.382036018453353e-09,
                                    9.14769958223679e-10,
                                    -2.5514193994946248e-11,
                                    -5.830772132550426e-11,
                                    2.4361948020667415e-11,
                                    -5.0276692801141755e-12,
                                    1.1004392031956135e-13,
                                    3.371763262400985e-13,
                                    -1.392388722418162e-13,
                                    2.8534893807047445e-14,
                                    -5.139111834242572e-16,
                                    -1.9752288294349442e-15};

// How many terms the digits of a dtype need.
struct Counts {
  int series, fraction, small;
};
Counts counts_for(Dtype dtype) {
  return dtype == Dtype::f64 ? Counts{50, 35, 25} : Counts{30, 14, 18};
}

struct Pair {
  Tensor first, second;
  Dtype given;
};

// Both in the dtype in which they are computed, and that of the result.
Pair computed_together(const char* op, const Tensor& first, const Tensor& second) {
  ResultType type(default_dtype());
  for (const Tensor& each : {first, second}) {
    BP_CHECK(!is_complex(each.dtype()), "{}: an argument is {}; pass real numbers", op,
             name(each.dtype()));
    type.add(each.dtype(), each.ndim() == 0);
  }
  const Dtype common = type.result(), given = is_floating(common) ? common : default_dtype();
  return {widened(in_dtype(first, given)), widened(in_dtype(second, given)), given};
}

// What is left of x beside a: phi = mu - log(1 + mu) for x = a * (1 + mu), and eta = sqrt(2 * phi) with the sign of mu. Both
// are smooth where mu is 0, and so are their derivatives.
struct Distance {
  Tensor phi, eta;
};

// For mu from -0.5 to 0.5 by the series of the inverse hyperbolic tangent, over mu^2.
Tensor phi_by_square(const Tensor& mu) {
  std::array<double, 18> terms{};
  for (std::size_t k = 0; k < terms.size(); ++k)
    terms[terms.size() - 1 - k] = 1 / (2 * static_cast<double>(k) + 3);
  const Tensor inverse = div(1, add(mu, 2)), s = mul(mu, inverse);
  const Tensor rest = mul(mul(mul(s, inverse), inverse), polynomial(mul(s, s), terms));
  return sub(inverse, mul(rest, 2));
}

Distance distance_of(const Tensor& a, const Tensor& x) {
  const Tensor mu = div(sub(x, a), a), is_near = lt(abs(mu), 0.5);
  const Tensor inner = where(is_near, mu, 0), ratio = phi_by_square(inner);
  const Tensor far = where(is_near, 1, sub(mu, log(div(x, a)))), length = sqrt(mul(far, 2));
  return {where(is_near, mul(mul(inner, inner), ratio), far),
          where(is_near, mul(inner, sqrt(mul(ratio, 2))), where(lt(mu, 0), neg(length), length))};
}

// x^a * exp(-x) / gamma(a + 1); the exponents of large a without their common parts.
Tensor gamma_density(const Tensor& a, const Tensor& x, const Tensor& phi) {
  const Tensor is_large = gt(a, a_is_large);
  const Tensor few = where(is_large, a_is_large, a), many = where(is_large, a, a_is_large);
  const Tensor near = exp(sub(sub(mul(few, log(x)), x), lgamma_of_one_more(few)));
  const Tensor scale = mul(sqrt(mul(many, 6.28318530717958647693)), exp(stirling_correction(many)));
  return where(is_large, div(exp(neg(mul(many, phi))), scale), near);
}

// 1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ...
Tensor lower_series(const Tensor& a, const Tensor& x, int count) {
  Tensor sum = full_like(x, 1.0);
  for (int k = count; k > 0; --k) sum = add(div(mul(sum, x), add(a, k)), 1);
  return sum;
}

// Legendre's continued fraction of gamma(a, x) * exp(x) / x^a.
Tensor upper_fraction(const Tensor& a, const Tensor& x, int count) {
  const Tensor rest = sub(x, a);
  Tensor below = add(rest, 2 * count + 1);
  for (int k = count; k > 0; --k) below = sub(add(rest, 2 * k - 1), div(mul(sub(k, a), k), below));
  return div(1, below);
}

// gammaincc for a up to 1 and x up to 3, where what is near 1 leaves it few digits.
Tensor upper_near_zero(const Tensor& a, const Tensor& x, int count) {
  Tensor sum = full_like(x, 0.0);
  for (int n = count; n > 0; --n) sum = mul(add(div(a, add(a, n)), sum), mul(x, -1.0 / n));
  const Tensor power = sub(mul(a, log(x)), lgamma_of_one_more(a));
  return neg(add(expm1(power), mul(exp(power), sum)));
}

struct Halves {
  Tensor lower, upper;
};

// Of a from 12 on by Temme's expansion, of which the terms come from the differential equation that the rest beside erfc
// fulfils: N. M. Temme, "The asymptotic expansion of the incomplete gamma functions", 1979, and DLMF, 8.12.
Halves uniform_halves(const Tensor& a, const Tensor& eta) {
  constexpr std::size_t count = std::size(uniform_terms);
  std::array<Tensor, count> terms;
  terms[count - 1] = full_like(a, uniform_terms[count - 1]);
  terms[count - 2] = full_like(a, uniform_terms[count - 2]);
  for (std::size_t n = count - 2; n > 0; --n)
    terms[n - 1] = add(mul(div(terms[n + 1], a), static_cast<double>(n + 1)), uniform_terms[n]);
  Tensor sum = terms[count - 1];
  for (std::size_t n = count - 1; n-- > 0;) sum = add(mul(sum, eta), terms[n]);
  sum = div(sum, add(div(terms[1], a), 1));
  const Tensor z = mul(eta, sqrt(mul(a, 0.5)));
  const Tensor rest = div(mul(exp(neg(mul(z, z))), sum), sqrt(mul(a, 6.28318530717958647693)));
  return {sub(mul(erfc(neg(z)), 0.5), rest), add(mul(erfc(z), 0.5), rest)};
}

// Of finite a and x above 0. Each way gets what it can take where another one is chosen.
Halves halves_within(const Tensor& a, const Tensor& x) {
  const Counts counts = counts_for(x.dtype());
  const Distance distance = distance_of(a, x);
  const Tensor density = gamma_density(a, x, distance.phi), ratio = div(x, a);
  const Tensor is_far = logical_and(ge(x, add(a, 2)), ge(x, 3));
  const Tensor lower = mul(density, lower_series(a, where(is_far, 1, x), counts.series));
  const Tensor beyond = where(is_far, x, add(a, 3));
  const Tensor far = mul(mul(density, a), upper_fraction(a, beyond, counts.fraction));
  const Tensor is_small = logical_and(lt(a, 1), lt(x, 3));
  const Tensor small = upper_near_zero(where(is_small, a, 1), where(is_small, x, 1), counts.small);
  const Tensor is_uniform =
      logical_and(gt(a, a_is_large), logical_and(gt(ratio, 0.3), lt(ratio, 2.35)));
  const Halves uniform =
      uniform_halves(where(is_uniform, a, a_is_large), where(is_uniform, distance.eta, 0));
  const Tensor upper = where(is_far, far, where(is_small, small, sub(1, lower)));
  return {where(is_uniform, uniform.lower, where(is_far, sub(1, far), lower)),
          where(is_uniform, uniform.upper, upper)};
}

// Of s at least 1 and q that is not a pole. To the left the whole powers of negative numbers are those of positive ones: the
// terms from q up to 0 are the difference of two sums to the right.
Tensor zeta_of_both_sides(const Tensor& s, const Tensor& q) {
  const Tensor is_left = lt(q, 0), size = abs(q), rest = where(is_left, sub(size, floor(size)), 1);
  const Tensor right = zeta_to_the_right(s, where(is_left, sub(1, rest), q));
  const Tensor turned =
      sub(zeta_to_the_right(s, rest), zeta_to_the_right(s, where(is_left, add(size, 1), 2)));
  const Tensor is_odd = ne(mul(floor(mul(s, 0.5)), 2), s);
  return where(is_left, add(right, where(is_odd, neg(turned), turned)), right);
}

}  // namespace

Tensor incomplete_gamma(const Tensor& input, const Tensor& other, bool upper) {
  const auto [a, x, given] = computed_together(upper ? "gammaincc" : "gammainc", input, other);
  const Tensor is_within =
      logical_and(logical_and(gt(a, 0), lt(a, unbounded)), logical_and(gt(x, 0), lt(x, unbounded)));
  const Halves halves = halves_within(where(is_within, a, 1), where(is_within, x, 1));
  // Where one of them is at an end: all of it lies to the left of x, nothing, or neither is defined.
  const Tensor is_endless = eq(a, unbounded);
  const Tensor is_all =
      logical_or(logical_and(eq(a, 0), gt(x, 0)), logical_and(eq(x, unbounded), ge(a, 0)));
  const Tensor is_none =
      logical_or(logical_and(eq(x, 0), gt(a, 0)), logical_and(is_endless, ge(x, 0)));
  const Tensor is_open =
      logical_or(logical_and(is_endless, eq(x, unbounded)), logical_and(eq(a, 0), eq(x, 0)));
  const Tensor at_end =
      where(is_all, upper ? 0.0 : 1.0, full_like(where(is_none, a, x), std::nan("")));
  const Tensor found = where(is_none, upper ? 1.0 : 0.0, at_end);
  return in_dtype(
      where(is_within, upper ? halves.upper : halves.lower, where(is_open, std::nan(""), found)),
      given);
}

Tensor zeta_by_sum(const Tensor& input, const Tensor& other) {
  const auto [s, q, given] = computed_together("zeta", input, other);
  const Tensor is_whole = eq(q, floor(q)), is_left = le(q, 0);
  const Tensor is_pole = logical_or(eq(s, 1), logical_and(is_left, is_whole));
  const Tensor has_powers = logical_or(gt(q, 0), eq(s, floor(s)));
  const Tensor is_defined = logical_and(gt(s, 1), logical_or(has_powers, is_pole));
  const Tensor is_within = logical_and(is_defined, logical_not(is_pole));
  const Tensor value = zeta_of_both_sides(where(is_within, s, 2), where(is_within, q, 1));
  const Tensor at_pole = where(logical_and(is_pole, ge(s, 1)), unbounded, std::nan(""));
  return in_dtype(where(is_within, value, in_dtype(at_pole, value.dtype())), given);
}

}  // namespace bp
