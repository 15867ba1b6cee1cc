// Functions of complex numbers by their real parts, with C11's (annex G) results for infinities, NaN and both zeros.
#pragma once

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

Tensor abs_of_complex(const Tensor& input);
Tensor exp_of_complex(const Tensor& input);
Tensor exp2_of_complex(const Tensor& input);
Tensor expm1_of_complex(const Tensor& input);
Tensor log_of_complex(const Tensor& input);
// The logarithm to a base of which `log_of_base` is the natural one.
Tensor log_of_complex(const Tensor& input, double log_of_base);
Tensor log1p_of_complex(const Tensor& input);
Tensor sqrt_of_complex(const Tensor& input);
// exp(exponent * log(input)); 0 has powers with a positive real part, 0, and that of 0, which is 1.
Tensor power_of_complex(const Tensor& input, const Tensor& exponent);
Tensor sigmoid_of_complex(const Tensor& input);

Tensor sin_of_complex(const Tensor& input);
Tensor cos_of_complex(const Tensor& input);
Tensor tan_of_complex(const Tensor& input);
Tensor sinh_of_complex(const Tensor& input);
Tensor cosh_of_complex(const Tensor& input);
Tensor tanh_of_complex(const Tensor& input);
Tensor asin_of_complex(const Tensor& input);
Tensor acos_of_complex(const Tensor& input);
Tensor atan_of_complex(const Tensor& input);
Tensor asinh_of_complex(const Tensor& input);
Tensor acosh_of_complex(const Tensor& input);
Tensor atanh_of_complex(const Tensor& input);

// Of either part, or of both.
Tensor is_nan_in_complex(const Tensor& input);
Tensor is_inf_in_complex(const Tensor& input);
Tensor is_finite_in_complex(const Tensor& input);

}  // namespace bp
