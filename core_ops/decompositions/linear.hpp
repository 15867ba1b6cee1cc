// What adds to matrix products, from other operators.
#pragma once

#include <cstdint>
#include <string_view>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

// How a row calls itself and its factors, the rank that these have, and how it calls what it adds.
struct ProductNames {
  std::string_view op, left, right;
  std::int64_t rank;
  std::string_view addend = "input";
};
// beta * a + alpha * (left by right).
Tensor added_product(const ProductNames& names, const Tensor& input, const Tensor& left,
                     const Tensor& right, const Scalar& beta, const Scalar& alpha);

// One product of matrices, whatever the rank of `input`.
Tensor linear_by_matmul(const Tensor& input, const Tensor& weight, const Tensor& bias);

Tensor einsum_by_pairs(std::string_view equation, const TensorList& operands);

}  // namespace bp
