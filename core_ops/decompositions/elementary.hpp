// Trigonometric and hyperbolic functions, and others of one step that no primitive does, from steps that primitives do; each
// within its row's tolerance.
#pragma once

#include <backplane/tensor/tensor.hpp>

namespace bp {

Tensor atan_by_series(const Tensor& input);
Tensor atan2_by_series(const Tensor& input, const Tensor& other);
Tensor hypot_by_root(const Tensor& input, const Tensor& other);
Tensor sinc_by_sine(const Tensor& input);
Tensor sinh_by_exp(const Tensor& input);
Tensor cosh_by_exp(const Tensor& input);
Tensor asinh_by_log(const Tensor& input);
Tensor acosh_by_log(const Tensor& input);
Tensor atanh_by_log(const Tensor& input);
Tensor erfc_by_exp(const Tensor& input);
// exp(x^2) * erfc(x) of x from 0.46 to 28.
Tensor scaled_erfc(const Tensor& x);
Tensor copysign_by_quotient(const Tensor& input, const Tensor& other);

}  // namespace bp
