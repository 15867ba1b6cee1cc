// What sums up many elements in one, from other operators. Dimensions come wrapped and sorted, as rules
// leave them; small floating types are computed in float32.
#pragma once

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

// In a number of multiplications that grows with the logarithm of the length. Logarithms of the elements
// would lose signs, zeros and digits.
Tensor prod_by_halves(const Tensor& input, const DimList& dim, bool keepdim);

// The mean first, then the distances from it: a difference of large sums would lose all digits.
Tensor variance_in_two_passes(const Tensor& input, const DimList& dim, const Scalar& correction,
                              bool keepdim);
Tensor deviation_in_two_passes(const Tensor& input, const DimList& dim, const Scalar& correction,
                               bool keepdim);

Tensor argmin_by_argmax(const Tensor& input, std::optional<std::int64_t> dim, bool keepdim);

// The largest element is taken off first, so that exp does not overflow.
Tensor logsumexp_by_max(const Tensor& input, const DimList& dim, bool keepdim);
Tensor norm_by_power(const Tensor& input, double p, const DimList& dim, bool keepdim);

}  // namespace bp
