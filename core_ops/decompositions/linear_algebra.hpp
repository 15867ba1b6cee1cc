// What is made of factorizations: systems, inverses, determinants, powers, ranks and norms of matrices.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

// Of linalg_solve's; an error where A and B do not fit.
Dims shape_of_solution(const Tensor& A, const Tensor& B, bool left);
Tensor solution_by_lu(const Tensor& A, const Tensor& B, bool left);
Tensor inverse_by_lu(const Tensor& A);
Tensor determinant_by_lu(const Tensor& A);
LinalgSlogdetResult log_determinant_by_lu(const Tensor& A);
Tensor adjugate_by_svd(const Tensor& A);
LinalgLstsqResult least_squares(const Tensor& A, const Tensor& B, std::optional<double> rcond,
                                std::string_view driver);
Tensor power_by_squaring(const Tensor& input, std::int64_t n);
Tensor exponential_by_squaring(const Tensor& input);
Tensor pseudoinverse_by_svd(const Tensor& input, std::optional<double> atol,
                            std::optional<double> rtol, bool hermitian);
Tensor rank_by_svd(const Tensor& input, std::optional<double> atol, std::optional<double> rtol,
                   bool hermitian);
Tensor norm_of_matrices(const Tensor& input, std::string_view ord, const DimList& dim,
                        bool keepdim);
Tensor powers_in_columns(const Tensor& x, std::optional<std::int64_t> count);
Tensor product_in_best_order(TensorList tensors);

}  // namespace bp
