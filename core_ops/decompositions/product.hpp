// Products of vectors, from other operators.
#pragma once

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

Tensor dot_by_matmul(const Tensor& input, const Tensor& tensor);
Tensor matrix_by_vector(const Tensor& input, const Tensor& vec);
// beta * input + alpha * (mat by vec).
Tensor added_vector_product(const Tensor& input, const Tensor& mat, const Tensor& vec,
                            const Scalar& beta, const Scalar& alpha);
Tensor outer_by_broadcast(const Tensor& input, const Tensor& vec2);

}  // namespace bp
