#include "decompositions/complex.hpp"

#include <numbers>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/promotion.hpp>
#include <backplane/tensor/views.hpp>

#include "rules/decompositions.hpp"

namespace bp {
namespace {

// A view that shows the same.
Tensor shown_again(const Tensor& input) {
  return expand(input, input.shape());
}

}  // namespace

Tensor complex_of_pairs(Tensor pairs) {
  if (!views::shows_pairs(pairs)) pairs = contiguous(pairs);
  Tensor result = view_as_complex(pairs);
  pairs = {};
  forget_lone_base(*result.impl());
  return result;
}

Tensor with_complex_peer(const Tensor& input) {
  if (is_complex(input.dtype()) || is_floating(input.dtype())) return widened(input);
  return cast(input, default_dtype() == f64 ? f64 : f32);
}

void check_real(std::string_view op, TensorList tensors) {
  for (const Tensor& each : tensors.span())
    BP_CHECK(!is_complex(each.dtype()), "{}: not defined for {}; pass real() or imag() of it", op,
             name(each.dtype()));
}

Tensor real_parts(const Tensor& input) {
  return is_complex(input.dtype()) ? select(view_as_real(input), -1, 0) : shown_again(input);
}

Tensor imaginary_parts(const Tensor& input) {
  BP_CHECK(is_complex(input.dtype()),
           "imag: the input is {}; only complex numbers have an imaginary part",
           name(input.dtype()));
  return select(view_as_real(input), -1, 1);
}

Tensor conjugated_by_pairs(const Tensor& input) {
  if (!is_complex(input.dtype())) return shown_again(input);
  const Tensor pairs = view_as_real(input);
  return complex_of_pairs(mul(pairs, arange(1, -2, -2, pairs.dtype(), input.device())));
}

Tensor complex_by_polar(const Tensor& abs, const Tensor& angle) {
  BP_CHECK((abs.dtype() == f32 || abs.dtype() == f64) && abs.dtype() == angle.dtype(),
           "polar: abs is {} and angle is {}; cast both to float32 or both to float64",
           name(abs.dtype()), name(angle.dtype()));
  return complex_of_pairs(stack({mul(abs, cos(angle)), mul(abs, sin(angle))}, -1));
}

Tensor angle_in_radians(const Tensor& input) {
  if (is_complex(input.dtype())) return atan2(imaginary_parts(input), real_parts(input));
  const Tensor x = is_floating(input.dtype()) ? input : cast(input, default_dtype());
  return where(ne(x, x), x, where(lt(x, 0), full_like(x, std::numbers::pi), 0));
}

// 0 is taken out before the quotient, so that nothing infinite enters its derivative.
Tensor direction_by_parts(const Tensor& input) {
  if (!is_complex(input.dtype())) return sign(input);
  const Tensor re = real_parts(input), im = imaginary_parts(input);
  const Tensor is_zero = logical_and(eq(re, 0), eq(im, 0));
  const Tensor x = where(is_zero, 1, re), length = hypot(x, im);
  return complex_of_pairs(stack({where(is_zero, 0, div(x, length)), div(im, length)}, -1));
}

}  // namespace bp
