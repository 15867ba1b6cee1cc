// Elementwise functions whose expression is one step that no primitive does, from steps that primitives do.
#include <limits>
#include <span>

#include "decompositions.hpp"

namespace bp {
namespace {

// W. J. Cody, "Rational Chebyshev Approximations for the Error Function", Math. Comp. 23 (1969): erf(x) is
// x * P(x^2) / Q(x^2) up to 0.46875, and 1 - exp(-x^2) * P(x) / Q(x) beyond. His third range, from 4, is not
// needed: what the second says there differs from 0 by less than erf(x) differs from 1 in its last place.
constexpr double near_above[] = {1.85777706184603153e-1, 3.16112374387056560e0,
                                 1.13864154151050156e2, 3.77485237685302021e2,
                                 3.20937758913846947e3};
constexpr double near_below[] = {1, 2.36012909523441209e1, 2.44024637934444173e2,
                                 1.28261652607737228e3, 2.84423683343917062e3};
constexpr double far_above[] = {
    2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0,
    6.61191906371416295e1,  2.98635138197400131e2,  8.81952221241769090e2,
    1.71204761263407058e3,  2.05107837782607147e3,  1.23033935479799725e3};
constexpr double far_below[] = {1,
                                1.57449261107098347e1,
                                1.17693950891312499e2,
                                5.37181101862009858e2,
                                1.62138957456669019e3,
                                3.29079923573345963e3,
                                4.36261909014324716e3,
                                3.43936767414372164e3,
                                1.23033935480374942e3};

Tensor erf_of_wide(const Tensor& input) {
  const Tensor size = minimum(abs(input), 6.0);  // erf(6) is 1, and the powers stay finite
  const Tensor squared = mul(size, size);
  const Tensor is_near = lt(size, 0.46875);
  const Tensor near = div(polynomial(squared, near_above), polynomial(squared, near_below));
  const Tensor ratio = div(polynomial(size, far_above), polynomial(size, far_below));
  const Tensor far = sub(1, mul(exp(neg(squared)), ratio));
  return where(is_near, mul(input, near), where(lt(input, 0), neg(far), far));
}

}  // namespace

Tensor polynomial(const Tensor& x, std::span<const double> terms) {
  Tensor sum = mul(x, terms[0]);
  for (std::size_t i = 1; i + 1 < terms.size(); ++i) sum = mul(add(sum, terms[i]), x);
  return add(sum, terms.back());
}

// a - floor(a) is exact but for a in (-1, 0), where both of the nearest are 0 or what is lost decides nothing.
Tensor round_by_floor(const Tensor& input) {
  const Tensor below = floor(input);
  if (is_integral(input.dtype())) return below;
  const Tensor rest = sub(input, below);
  const Tensor half = mul(below, 0.5);
  const Tensor is_odd = ne(half, floor(half));
  const Tensor goes_up = logical_or(gt(rest, 0.5), logical_and(eq(rest, 0.5), is_odd));
  const Tensor rounded = where(goes_up, add(below, 1), below);
  return where(eq(rounded, 0), mul(input, 0), rounded);  // the sign of 0
}

Tensor sign_by_comparisons(const Tensor& input) {
  if (input.dtype() == boolean) return copy(input);
  return sub(cast(gt(input, 0), input.dtype()), cast(lt(input, 0), input.dtype()));
}

// W. Kahan's way: what rounding took from e^a, log finds again.
Tensor expm1_by_exp(const Tensor& input) {
  const Tensor power = exp(input);
  const Tensor less_one = sub(power, 1);
  const Tensor corrected = where(eq(power, 1), input, mul(less_one, div(input, log(power))));
  return where(gt(abs(input), 1), less_one, corrected);
}

Tensor log1p_by_log(const Tensor& input) {
  const Tensor more_one = add(input, 1);
  const Tensor logarithm = log(more_one);
  const Tensor corrected =
      where(eq(more_one, 1), input, mul(logarithm, div(input, sub(more_one, 1))));
  return where(eq(more_one, std::numeric_limits<double>::infinity()), logarithm, corrected);
}

Tensor erf_by_exp(const Tensor& input) {
  // The polynomials' terms reach beyond what f16 holds.
  return in_dtype(erf_of_wide(widened(input)), input.dtype());
}

}  // namespace bp
