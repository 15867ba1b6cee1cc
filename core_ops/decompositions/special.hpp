// Special functions from steps that every device does: gamma's family, the inverse of erf, and numbers' neighbours.
// Integers become the default dtype, and 16-bit floats are computed in float32.
#pragma once

#include <cstdint>

#include <backplane/tensor/tensor.hpp>

namespace bp {

// An integer as the default dtype, a 16-bit float as float32; and a result for such an input.
Tensor as_computed(const char* op, const Tensor& input);
Tensor as_given(const Tensor& result, const Tensor& input);

// Hurwitz's zeta of s above 1 and q above 0 by Euler's and Maclaurin's formula.
Tensor zeta_to_the_right(const Tensor& s, const Tensor& q);
// What Stirling's formula lacks of lgamma, for x from 8 on.
Tensor stirling_correction(const Tensor& x);
// lgamma(1 + a) of a from 0 on, with its digits for small ones.
Tensor lgamma_of_one_more(const Tensor& a);

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

// I of x from 0 up to 8.
Tensor modified_bessel_near(const Tensor& x, int order);

}  // namespace bp
