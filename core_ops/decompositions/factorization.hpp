// Cholesky and LU factorizations and triangular systems, by blocks of columns.
#pragma once

#include <cstdint>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

Tensor cholesky_by_blocks(const Tensor& input, bool upper);
Tensor triangular_solution(const Tensor& A, const Tensor& B, bool upper, bool left,
                           bool unitriangular);
// Of its solutions; an error where A and B do not fit.
Dims batch_of_triangular_system(const Tensor& A, const Tensor& B, bool left);
Tensor cholesky_solution(const Tensor& input, const Tensor& factor, bool upper);
Tensor cholesky_inverted(const Tensor& input, bool upper);
LinalgLuFactorResult lu_by_blocks(const Tensor& A, bool pivot);
LuUnpackResult lu_parts(const Tensor& data, const Tensor& pivots);

// Makes of `x`, [batch, n, k], what the triangular `factor`, [batch, n, n], multiplies to it, in place. The other half of
// `factor` is not read, nor its diagonal if that is 1 everywhere.
void solve_triangular_in_place(const Tensor& factor, const Tensor& x, bool upper,
                               bool unitriangular);
// For `pivots`, [batch, k]: which of `rows` rows of the matrix is row i of its factors, [batch, 1, rows].
Tensor order_by_pivots(const Tensor& pivots, std::int64_t rows);

}  // namespace bp
