// The incomplete gamma functions and Hurwitz's zeta.
#pragma once

#include <backplane/tensor/tensor.hpp>

namespace bp {

// `upper`: gammaincc.
Tensor incomplete_gamma(const Tensor& input, const Tensor& other, bool upper);
Tensor zeta_by_sum(const Tensor& input, const Tensor& other);

}  // namespace bp
