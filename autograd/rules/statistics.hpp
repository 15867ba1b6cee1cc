// Gradients of products, variances and norms.
#pragma once

#include <backplane/core_ops/arguments.hpp>
#include <backplane/core_ops/generated/all.hpp>

namespace bp::autograd {

// For each element, the product of all others that go into the same result, computed in `dtype`. No division
// is made, so that it is exact where elements are zero.
Tensor product_of_others(const Tensor& input, const DimList& dim, Dtype dtype);

// Of cumprod, without a division either.
Tensor running_product_gradient(const Tensor& gradient, const Tensor& input, std::int64_t dim);

Tensor variance_gradient(const Tensor& gradient, const Tensor& input, const DimList& dim,
                         const Scalar& correction, bool keepdim);

// Where the norm has no derivative, the subgradient that PyTorch takes: 0 at zero, and equal parts for all
// elements that attain an extremum.
Tensor norm_gradient(const Tensor& gradient, const Tensor& input, double p, const Tensor& result,
                     const DimList& dim, bool keepdim);

}  // namespace bp::autograd
