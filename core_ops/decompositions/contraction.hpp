// Sums of products over chosen dimensions, from other operators.
#pragma once

#include <cstdint>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

Tensor products_along(const Tensor& x, const Tensor& y, std::int64_t dim);
Tensor inner_by_matmul(const Tensor& input, const Tensor& other);
Tensor contracted(const Tensor& input, const Tensor& other, IntList dims_self, IntList dims_other);
Tensor cross_by_turns(const Tensor& input, const Tensor& other, std::int64_t dim);
Tensor blocks_of_products(const Tensor& input, const Tensor& other);
Tensor added_outer(const Tensor& input, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
                   const Scalar& alpha);
Tensor bilinear_by_products(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                            const Tensor& bias);
Tensor sum_of_diagonal(const Tensor& input);

}  // namespace bp
