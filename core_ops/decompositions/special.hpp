// Special functions from steps that every device does: gamma's family, the inverse of erf, and numbers' neighbours.
// Integers become the default dtype, and 16-bit floats are computed in float32.
#pragma once

#include <cstdint>

#include <backplane/tensor/tensor.hpp>

namespace bp {

// An integer as the default dtype, a 16-bit float as float32; and a result for such an input.
Tensor as_computed(const char* op, const Tensor& input);
Tensor as_given(const Tensor& result, const Tensor& input);

Tensor lgamma_by_series(const Tensor& input);
Tensor digamma_by_series(const Tensor& input);
Tensor polygamma_by_zeta(std::int64_t n, const Tensor& input);
Tensor multigammaln_by_sum(const Tensor& input, std::int64_t p);
Tensor nextafter_by_sum(const Tensor& input, const Tensor& other);

Tensor erfinv_by_steps(const Tensor& input);
Tensor ndtri_by_steps(const Tensor& input);
Tensor erfcx_by_series(const Tensor& input);
Tensor log_ndtr_by_erfcx(const Tensor& input);

// The modified Bessel functions of the first kind; `scaled` by exp(-abs(input)).
Tensor bessel_by_series(const Tensor& input, int order, bool scaled);

}  // namespace bp
