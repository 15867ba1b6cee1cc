#include "decompositions/complex_functions.hpp"

#include <limits>
#include <numbers>

#include "decompositions/complex.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

struct Planar {
  Tensor re, im;
};

Planar planar(const Tensor& input) {
  return {real_parts(input), imaginary_parts(input)};
}

Tensor joined_parts(const Planar& z) {
  return complex_of_pairs(stack({z.re, z.im}, -1));
}

// f(z) of a function that is odd around the real axis turned by 90 degrees: -i f(i z) for each f below.
Planar turned(const Planar& z) {
  return {neg(z.im), z.re};
}
Planar turned_back(const Planar& z) {
  return {z.im, neg(z.re)};
}

Tensor is_not_finite(const Tensor& x) {
  return logical_not(isfinite(x));
}
Tensor both(const Tensor& a, const Tensor& b) {
  return logical_and(a, b);
}
Tensor either(const Tensor& a, const Tensor& b) {
  return logical_or(a, b);
}

Tensor zero_like(const Tensor& signs) {
  return copysign(zeros_like(signs), signs);
}

// exp(x) as two factors, of which the second is 1 where one is enough: their product with something less than 1 may have room
// where exp(x) has none.
struct Growth {
  Tensor size, rest;
};

Growth growth_of(const Tensor& x, const Tensor& size_where_small) {
  const Tensor is_large = gt(x, x.dtype() == f64 ? 709 : 88), half = exp(mul(x, 0.5));
  return {where(is_large, half, size_where_small), where(is_large, half, 1)};
}

// Where products of the two parts' functions would be NaN: an infinity times the sine of 0, and whatever has no angle.
struct Ends {
  Tensor has_no_turn, has_no_angle;
};

Ends ends_of(const Planar& z) {
  return {eq(z.im, 0), is_not_finite(z.im)};
}

Planar exp_of(const Planar& z) {
  const Ends ends = ends_of(z);
  const Growth grown = growth_of(z.re, exp(z.re));
  const auto times = [&](const Tensor& turn) { return mul(mul(grown.size, turn), grown.rest); };
  const Tensor vanishes = both(eq(z.re, -infinite), ends.has_no_angle);
  const Tensor grows = both(eq(z.re, infinite), ends.has_no_angle);
  return {where(vanishes, 0, where(grows, infinite, times(cos(z.im)))),
          where(ends.has_no_turn, z.im, where(vanishes, zero_like(z.im), times(sin(z.im))))};
}

// Both functions of large numbers are half of their growth.
class Hyperbolic {
 public:
  explicit Hyperbolic(const Tensor& x)
      : sinh_(growth_of(abs(x), mul(abs(sinh(x)), 2))), cosh_(growth_of(abs(x), mul(cosh(x), 2))),
        sign_(x) {}

  Tensor sinh_times(const Tensor& turn) const {
    return times({copysign(sinh_.size, sign_), sinh_.rest}, turn);
  }
  Tensor cosh_times(const Tensor& turn) const { return times(cosh_, turn); }

 private:
  static Tensor times(const Growth& grown, const Tensor& turn) {
    return mul(mul(mul(grown.size, 0.5), turn), grown.rest);
  }
  Growth sinh_, cosh_;
  Tensor sign_;
};

Planar sinh_of(const Planar& z) {
  const Ends ends = ends_of(z);
  const Tensor stays = either(eq(z.re, 0), isinf(z.re));
  const Hyperbolic h(z.re);
  return {where(both(stays, ends.has_no_angle), z.re, h.sinh_times(cos(z.im))),
          where(ends.has_no_turn, z.im, h.cosh_times(sin(z.im)))};
}

Planar cosh_of(const Planar& z) {
  const Ends ends = ends_of(z);
  const Tensor is_flat = either(ends.has_no_turn, both(eq(z.re, 0), ends.has_no_angle));
  const Hyperbolic h(z.re);
  return {where(both(isinf(z.re), ends.has_no_angle), infinite, h.cosh_times(cos(z.im))),
          where(is_flat, mul(zero_like(z.re), where(ends.has_no_angle, 1, z.im)),
                h.sinh_times(sin(z.im)))};
}

// W. Kahan's: (sinh cosh (1 + tan^2) + i tan) / (1 + (1 + tan^2) sinh^2); where sinh^2 would overflow, what that tends to.
Planar tanh_of(const Planar& z) {
  const Ends ends = ends_of(z);
  const double far = 22;
  const Tensor is_far = gt(abs(z.re), far), near = where(is_far, 0, z.re);
  const Tensor turn = tan(z.im), stretch = add(mul(turn, turn), 1), s = sinh(near);
  const Tensor below = add(mul(mul(s, s), stretch), 1);
  const Tensor rest = where(both(ends.has_no_angle, isinf(z.re)), zero_like(z.im),
                            mul(mul(mul(sin(z.im), cos(z.im)), 4), exp(mul(abs(z.re), -2))));
  const Tensor one = where(isnan(rest), rest, copysign(ones_like(z.re), z.re));
  const Tensor stays = either(both(eq(z.re, 0), ends.has_no_angle), isnan(z.re));
  return {where(stays, z.re, where(is_far, one, div(mul(mul(s, cosh(near)), stretch), below))),
          where(both(isnan(z.re), eq(z.im, 0)), z.im,
                where(isnan(z.re), z.re, where(is_far, rest, div(turn, below))))};
}

// The larger part comes out first, so that no square overflows; near the unit circle the logarithm of 1 + what is left.
Tensor log_of_size(const Planar& z) {
  const Tensor x = abs(z.re), y = abs(z.im), a = maximum(x, y), b = minimum(x, y);
  const Tensor is_near = both(gt(a, 0.5), lt(a, 2));
  const Tensor near = where(is_near, a, 1), beside = where(is_near, b, 0);
  const Tensor share = div(b, a);
  const Tensor far = add(log(a), mul(log1p(mul(share, share)), 0.5));
  const Tensor close = mul(log1p(add(mul(sub(near, 1), add(near, 1)), mul(beside, beside))), 0.5);
  return where(either(isinf(x), isinf(y)), infinite,
               where(eq(a, 0), -infinite, where(is_near, close, far)));
}

Planar log_of(const Planar& z) {
  return {log_of_size(z), atan2(z.im, z.re)};
}

Planar log1p_of(const Planar& z) {
  const Tensor one = add(z.re, 1);
  const Tensor is_small = both(lt(abs(z.re), 0.5), lt(abs(z.im), 0.5));
  const Tensor x = where(is_small, z.re, 0), y = where(is_small, z.im, 0);
  return {
      where(is_small, mul(log1p(add(mul(x, add(x, 2)), mul(y, y))), 0.5), log_of_size({one, z.im})),
      atan2(z.im, one)};
}

// Of numbers that are multiplied by a power of 4 first where their size, or its half, would leave the range.
Planar sqrt_of(const Planar& z) {
  const bool is_double = z.re.dtype() == f64;
  const double large = is_double ? 0x1p1021 : 0x1p125, small = is_double ? 0x1p-960 : 0x1p-100;
  const double up = is_double ? 0x1p108 : 0x1p48, down = is_double ? 0x1p-54 : 0x1p-24;
  const Tensor most = maximum(abs(z.re), abs(z.im));
  const Tensor is_large = gt(most, large), is_small = lt(most, small);
  const Tensor scale = where(is_large, 0.25, where(is_small, full_like(most, up), 1));
  const Tensor back = where(is_large, 2, where(is_small, full_like(most, down), 1));
  const Tensor x = mul(z.re, scale), y = mul(z.im, scale);
  const Tensor far = sqrt(mul(add(abs(x), hypot(x, y)), 0.5)), is_zero = eq(far, 0);
  const Tensor other = where(is_zero, 0, div(mul(abs(y), 0.5), where(is_zero, 1, far)));
  const Tensor root = mul(far, back), rest = mul(other, back);
  const Tensor is_left = lt(x, 0), is_endless = isinf(z.im);
  return {where(is_endless, infinite, where(is_left, rest, root)),
          where(is_endless, z.im, copysign(where(is_left, root, rest), z.im))};
}

Planar plus_one(const Planar& z) {
  return {add(z.re, 1), z.im};
}
Planar one_minus(const Planar& z) {
  return {sub(1, z.re), neg(z.im)};
}

// Of infinities the angles are those of their direction; a NaN elsewhere leaves nothing known.
Tensor any_infinite(const Planar& z) {
  return either(isinf(z.re), isinf(z.im));
}

constexpr double tiny = 0x1p-40, quarter_turn = std::numbers::pi / 2;

// W. Kahan's for these three; of what is tiny asin is itself, where its half might be nothing.
Planar asin_of(const Planar& z) {
  const Planar a = sqrt_of(one_minus(z)), b = sqrt_of(plus_one(z));
  const Tensor is_far = any_infinite(z), size = abs(z.im);
  const Tensor across = sub(mul(b.im, a.re), mul(b.re, a.im));
  const Tensor is_tiny = lt(maximum(abs(z.re), size), tiny);
  return {where(eq(z.re, 0), z.re,
                where(is_far, copysign(atan2(abs(z.re), size), z.re),
                      atan2(z.re, sub(mul(a.re, b.re), mul(a.im, b.im))))),
          where(is_far, copysign(full_like(z.im, infinite), z.im),
                where(is_tiny, z.im, asinh(across)))};
}

Planar acos_of(const Planar& z) {
  const Planar a = sqrt_of(one_minus(z)), b = sqrt_of(plus_one(z));
  const Tensor is_far = any_infinite(z), size = abs(z.im);
  const Tensor across = sub(mul(b.re, a.im), mul(b.im, a.re));
  const Tensor is_tiny = lt(maximum(abs(z.re), size), tiny);
  return {
      where(eq(z.re, 0), quarter_turn, where(is_far, atan2(size, z.re), mul(atan2(a.re, b.re), 2))),
      where(is_far, copysign(full_like(z.im, infinite), neg(z.im)),
            where(is_tiny, neg(z.im), asinh(across)))};
}

Planar acosh_of(const Planar& z) {
  const Planar a = sqrt_of({sub(z.re, 1), z.im}), b = sqrt_of(plus_one(z));
  const Tensor is_far = any_infinite(z);
  return {where(is_far, infinite, asinh(add(mul(a.re, b.re), mul(a.im, b.im)))),
          where(is_far, atan2(z.im, z.re),
                where(both(eq(z.re, 0), isnan(z.im)), quarter_turn, mul(atan2(a.im, b.re), 2)))};
}

// Far out 1 / z and a quarter of a turn are left; beside 1, where the square of what is left may be nothing, its logarithm.
Planar atanh_of(const Planar& z) {
  const double far = z.re.dtype() == f64 ? 0x1p500 : 0x1p60;
  const Tensor size = abs(z.re), is_far = either(gt(size, far), gt(abs(z.im), far));
  const Tensor x = where(is_far, 0, size), y = where(is_far, 0, z.im);
  const Tensor rest = sub(1, x), square = mul(y, y);
  const Tensor is_beside = both(eq(x, 1), lt(abs(y), 1e-8));
  const Tensor near =
      where(is_beside, mul(sub(std::numbers::ln2, log(where(is_beside, abs(y), 1))), 0.5),
            mul(log1p(div(mul(x, 4), where(is_beside, 1, add(mul(rest, rest), square)))), 0.25));
  const Tensor length = hypot(z.re, z.im);
  const Tensor small = where(isinf(length), 0, div(div(size, length), length));
  const Tensor angle = mul(atan2(mul(y, 2), sub(mul(rest, add(x, 1)), square)), 0.5);
  const Tensor turn = copysign(full_like(y, quarter_turn), z.im);
  const Tensor quarter =
      where(isnan(z.im), z.im, where(both(isnan(z.re), isfinite(z.im)), z.re, turn));
  return {where(eq(z.re, 0), z.re, copysign(where(is_far, small, near), z.re)),
          where(is_far, quarter, angle)};
}

template <class Function> Tensor by_parts(const Tensor& input, Function function) {
  return joined_parts(function(planar(input)));
}
template <class Function> Tensor by_turned_parts(const Tensor& input, Function function) {
  return joined_parts(turned_back(function(turned(planar(input)))));
}

}  // namespace

Tensor abs_of_complex(const Tensor& input) {
  const Planar z = planar(input);
  return hypot(z.re, z.im);
}

Tensor exp_of_complex(const Tensor& input) {
  return by_parts(input, exp_of);
}

Tensor exp2_of_complex(const Tensor& input) {
  const Planar z = planar(input);
  return joined_parts(exp_of({mul(z.re, std::numbers::ln2), mul(z.im, std::numbers::ln2)}));
}

// exp(x) cos(y) - 1 without loss: what each of both factors is more than 1.
Tensor expm1_of_complex(const Tensor& input) {
  const Planar z = planar(input), all = exp_of(z);
  const Tensor half = sin(mul(z.im, 0.5));
  const Tensor near = sub(mul(expm1(z.re), cos(z.im)), mul(mul(half, half), 2));
  return joined_parts({where(isfinite(near), near, sub(all.re, 1)), all.im});
}

Tensor log_of_complex(const Tensor& input) {
  return by_parts(input, log_of);
}

Tensor log_of_complex(const Tensor& input, double log_of_base) {
  const Planar logs = log_of(planar(input));
  return joined_parts({div(logs.re, log_of_base), div(logs.im, log_of_base)});
}

Tensor log1p_of_complex(const Tensor& input) {
  return by_parts(input, log1p_of);
}

Tensor sqrt_of_complex(const Tensor& input) {
  return by_parts(input, sqrt_of);
}

Tensor power_of_complex(const Tensor& input, const Tensor& exponent) {
  const Planar z = planar(input), w = planar(exponent), logs = log_of(z);
  const Planar power = exp_of(
      {sub(mul(w.re, logs.re), mul(w.im, logs.im)), add(mul(w.re, logs.im), mul(w.im, logs.re))});
  const auto is = [&](double whole) { return both(eq(w.re, whole), eq(w.im, 0)); };
  // Through the logarithm these lose digits.
  const double limit = z.re.dtype() == f64 ? 0x1p500 : 0x1p60;
  const Tensor has_square = lt(maximum(abs(z.re), abs(z.im)), limit);
  const Tensor is_itself = is(1), is_square = both(is(2), has_square), is_root = is(0.5);
  const Planar root = sqrt_of(z);
  const Tensor re = where(is_square, mul(sub(z.re, z.im), add(z.re, z.im)), power.re);
  const Tensor im = where(is_square, mul(mul(z.re, z.im), 2), power.im);
  const Tensor vanishes = both(both(eq(z.re, 0), eq(z.im, 0)), gt(w.re, 0)), is_one = is(0);
  return joined_parts(
      {where(is_one, 1, where(vanishes, 0, where(is_itself, z.re, where(is_root, root.re, re)))),
       where(either(is_one, vanishes), 0, where(is_itself, z.im, where(is_root, root.im, im)))});
}

Tensor sigmoid_of_complex(const Tensor& input) {
  return reciprocal(add(exp_of_complex(neg(input)), 1));
}

Tensor sin_of_complex(const Tensor& input) {
  return by_turned_parts(input, sinh_of);
}
Tensor cos_of_complex(const Tensor& input) {
  return joined_parts(cosh_of(turned(planar(input))));
}
Tensor tan_of_complex(const Tensor& input) {
  return by_turned_parts(input, tanh_of);
}
Tensor sinh_of_complex(const Tensor& input) {
  return by_parts(input, sinh_of);
}
Tensor cosh_of_complex(const Tensor& input) {
  return by_parts(input, cosh_of);
}
Tensor tanh_of_complex(const Tensor& input) {
  return by_parts(input, tanh_of);
}
Tensor asin_of_complex(const Tensor& input) {
  return by_parts(input, asin_of);
}
Tensor acos_of_complex(const Tensor& input) {
  return by_parts(input, acos_of);
}
Tensor atan_of_complex(const Tensor& input) {
  return by_turned_parts(input, atanh_of);
}
Tensor asinh_of_complex(const Tensor& input) {
  return by_turned_parts(input, asin_of);
}
Tensor acosh_of_complex(const Tensor& input) {
  return by_parts(input, acosh_of);
}
Tensor atanh_of_complex(const Tensor& input) {
  return by_parts(input, atanh_of);
}

Tensor is_nan_in_complex(const Tensor& input) {
  const Planar z = planar(input);
  return either(isnan(z.re), isnan(z.im));
}
Tensor is_inf_in_complex(const Tensor& input) {
  return any_infinite(planar(input));
}
Tensor is_finite_in_complex(const Tensor& input) {
  const Planar z = planar(input);
  return both(isfinite(z.re), isfinite(z.im));
}

}  // namespace bp
