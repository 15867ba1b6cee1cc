#include "decompositions/elementary.hpp"

#include <limits>

#include "rules/decompositions.hpp"

namespace bp {
namespace {

constexpr double pi = 3.14159265358979323846, ln2 = 0.69314718055994530942;

// (atan(x) - x) / x^3 as a polynomial of x^2, for x up to tan(pi / 8); interpolated in Chebyshev's points, with a
// relative error of 1e-16.
constexpr double atan_terms[] = {
    -0.019175404711104933678, 0.039230447784793095235,  -0.050854078345894842573,
    0.058581409048663282818,  -0.066645105255089365988, 0.076921831253768920895,
    -0.090909045753064890845, 0.11111111015187018721,   -0.14285714284665680761,
    0.19999999999995516545,   -0.33333333333333330156};

// exp(x^2) * erfc(x) * (x + 2) as a polynomial of (x - 2) / (x + 2), for x from 0.46 to 28; found in the same way.
constexpr double erfc_terms[] = {
    -4.2542528346432679366e-10,  1.9583841548647618003e-7,   -1.6953581887702264335e-7,
    -8.721592880180623785e-7,    -8.036207627389797862e-8,   2.2368160578527988645e-6,
    3.6559505926002519615e-6,    -1.2332990734498728689e-6,  -0.000016114772564561545175,
    -0.000021665388046562819801, 0.000034145538542207671377, 0.00014446515016174501557,
    0.000034372143356066616405,  -0.00066307287192205652092, -0.00083729613869321611211,
    0.0030906120170778421855,    0.006479185071875128533,    -0.021510661888032550148,
    -0.036442231506975600986,    0.27947209255603490145,     -0.68716068441380996462,
    1.0215827052420230208};

// Of 0 too, and of what a device takes for it: 1 / -0 is -inf.
Tensor is_negative(const Tensor& x) {
  return logical_or(lt(x, 0), lt(div(1, x), 0));
}

// `size`, which is not negative, with the sign of x; 0 keeps its sign.
Tensor with_sign_of(const Tensor& size, const Tensor& x) {
  return where(eq(x, 0), x, where(lt(x, 0), neg(size), size));
}

}  // namespace

// From pi / 8 on by the angle to pi / 4, beyond 1 by that to pi / 2.
Tensor atan_by_series(const Tensor& input) {
  const Tensor size = abs(input);
  const Tensor is_steep = gt(size, 1);
  const Tensor slope = where(is_steep, div(1, size), size);
  const Tensor is_far = gt(slope, 0.41421356237309503);
  const Tensor x = where(is_far, div(sub(slope, 1), add(slope, 1)), slope);
  const Tensor square = mul(x, x);
  const Tensor angle = add(x, mul(mul(x, square), polynomial(square, atan_terms)));
  const Tensor of_slope = where(is_far, add(angle, pi / 4), angle);
  return with_sign_of(where(is_steep, sub(pi / 2, of_slope), of_slope), input);
}

// By the slope, and half a turn more on the left. Where both are infinite it is 1 or -1.
Tensor atan2_by_series(const Tensor& input, const Tensor& other) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Tensor goes_left = is_negative(other), goes_down = is_negative(input);
  const Tensor is_diagonal = logical_and(eq(abs(input), infinity), eq(abs(other), infinity));
  const Tensor quotient = div(input, other);
  const Tensor diagonal = where(ne(goes_left, goes_down), full_like(quotient, -1.0), 1);
  const Tensor angle = atan_by_series(where(is_diagonal, diagonal, quotient));
  const Tensor half_turn = where(goes_down, full_like(input, -pi), pi);
  const Tensor turned = where(goes_left, add(angle, half_turn), angle);
  const Tensor flat = where(goes_left, half_turn, input);
  return where(logical_and(eq(input, 0), eq(other, other)), flat, turned);
}

// By the larger of both, whose square might overflow. Infinity wins over NaN.
Tensor hypot_by_root(const Tensor& input, const Tensor& other) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Tensor a = abs(input), b = abs(other);
  const Tensor larger = maximum(a, b), ratio = div(minimum(a, b), larger);
  const Tensor finite = where(eq(larger, 0), larger, mul(larger, sqrt(add(mul(ratio, ratio), 1))));
  return where(logical_or(eq(a, infinity), eq(b, infinity)), full_like(finite, infinity), finite);
}

// Whole turns are taken off before anything is rounded.
Tensor sinc_by_sine(const Tensor& input) {
  const Tensor half_turns = sub(input, mul(round(mul(input, 0.5)), 2));
  return where(eq(input, 0), 1, div(div(sin(mul(half_turns, pi)), pi), input));
}

// Large ones in two factors, which do not overflow before their product does.
Tensor sinh_by_exp(const Tensor& input) {
  const Tensor size = abs(input);
  const Tensor less_one = expm1(size);
  const Tensor near = mul(add(less_one, div(less_one, add(less_one, 1))), 0.5);
  const Tensor root = exp(mul(size, 0.5));
  return with_sign_of(where(lt(size, 20), near, mul(mul(root, 0.5), root)), input);
}

Tensor cosh_by_exp(const Tensor& input) {
  const Tensor root = exp(mul(abs(input), 0.5));
  return add(mul(mul(root, 0.5), root), div(div(0.5, root), root));
}

// Beyond 2^28, where the square adds nothing in float64, by the logarithm of twice the size.
Tensor asinh_by_log(const Tensor& input) {
  const Tensor size = abs(input);
  const Tensor square = mul(size, size);
  const Tensor near = log1p(add(size, div(square, add(sqrt(add(square, 1)), 1))));
  return with_sign_of(where(gt(size, 0x1p28), add(log(size), ln2), near), input);
}

Tensor acosh_by_log(const Tensor& input) {
  const Tensor more = sub(input, 1);
  const Tensor near = log1p(add(more, mul(sqrt(more), sqrt(add(more, 2)))));
  return where(gt(input, 0x1p28), add(log(input), ln2), near);
}

Tensor atanh_by_log(const Tensor& input) {
  const Tensor size = abs(input);
  return with_sign_of(mul(log1p(div(mul(size, 2), sub(1, size))), 0.5), input);
}

Tensor scaled_erfc(const Tensor& x) {
  return div(polynomial(div(sub(x, 2), add(x, 2)), erfc_terms), add(x, 2));
}

// exp(-x^2) as exp(-h^2) * exp(-(x - h) * (x + h)) with h of few digits, so that its square is exact.
Tensor erfc_by_exp(const Tensor& input) {
  const Tensor x = minimum(widened(input), 28.0), size = maximum(x, 0.46);
  const Tensor coarse = mul(floor(mul(size, 16)), 0.0625);
  const Tensor power =
      mul(exp(neg(mul(coarse, coarse))), exp(neg(mul(sub(size, coarse), add(size, coarse)))));
  const Tensor far = mul(power, scaled_erfc(size));
  return in_dtype(where(lt(x, 0.46), sub(1, erf(x)), far), input.dtype());
}

Tensor copysign_by_quotient(const Tensor& input, const Tensor& other) {
  const Tensor size = abs(input);
  return where(is_negative(other), neg(size), size);
}

}  // namespace bp
