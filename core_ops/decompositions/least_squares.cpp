// Systems with more equations than unknowns, or fewer.
#include <algorithm>

#include <backplane/core_ops/creation.hpp>
#include <backplane/runtime/capturing.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/promotion.hpp>

#include "decompositions/linear_algebra.hpp"
#include "decompositions/matrices.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

void check_least_squares(const Tensor& A, const Tensor& B, std::string_view driver) {
  const char* const op = "linalg_lstsq";
  check_matrices(op, "A", A);
  check_dtypes_agree(op, A, B);
  BP_CHECK(driver == "gels" || driver == "gelsy" || driver == "gelsd" || driver == "gelss",
           "{}: the driver is '{}'; choose 'gels', 'gelsy', 'gelsd' or 'gelss'", op, driver);
  BP_CHECK(B.ndim() > 0, "{}: B is 0-dim; pass matrices, [..., n, k], or vectors, [..., n]", op);
}

// Of matrices A and B with one batch. Where there are more unknowns, the smallest solution lies in A's rows.
Tensor solution_by_qr(const Tensor& A, const Tensor& B) {
  if (A.size(-2) >= A.size(-1)) {
    const LinalgQrResult of = linalg_qr(A);
    return linalg_solve_triangular(of.R, matmul(adjoint(of.Q), B), true);
  }
  const LinalgQrResult of = linalg_qr(adjoint(A));
  return matmul(of.Q, linalg_solve_triangular(adjoint(of.R), B, false));
}

// Without equations, or without unknowns, the smallest solution is 0.
Tensor matrix_of_least_squares(const Tensor& A, const Tensor& B, std::optional<double> rcond,
                               std::string_view driver) {
  if (is_shape_alone(A) || is_shape_alone(B)) return matmul(transpose_last(A), B);
  if (driver == "gels") return solution_by_qr(A, B);
  return matmul(linalg_pinv(A, {}, rcond.value_or(usual_cut(A))), B);
}

// PyTorch's rule: gelsy gives none, and those by singular values if all matrices have full rank. Reads the rank, but in a
// capture, which cannot.
bool has_residuals(const Tensor& A, const Tensor& rank, std::string_view driver) {
  if (A.size(-2) <= A.size(-1) || driver == "gelsy") return false;
  if (driver == "gels" || is_shape_alone(rank) || is_capturing()) return true;
  return item<bool>(all(eq(rank, A.size(-1))));
}

}  // namespace

LinalgLstsqResult least_squares(const Tensor& A, const Tensor& B, std::optional<double> rcond,
                                std::string_view driver) {
  check_least_squares(A, B, driver);
  const bool is_vector = is_vector_side(A, B);
  const Tensor side = is_vector ? unsqueeze(B, -1) : B;
  BP_CHECK(side.size(-2) == A.size(-2),
           "linalg_lstsq: A has shape {} and B has shape {} ({} against {} rows); make them equal",
           to_string(A.shape()), to_string(B.shape()), A.size(-2), side.size(-2));
  const Dims batch =
      broadcast_shapes("linalg_lstsq", batch_of_matrices(A), batch_of_matrices(side));
  const Tensor matrices = expand_batch(A, batch), wanted = expand_batch(side, batch);
  Tensor solution = matrix_of_least_squares(matrices, wanted, rcond, driver);
  const Dtype real_dtype = to_real(A.dtype());
  Tensor rank = zeros({0}, i64, A.device()), values = zeros({0}, real_dtype, A.device());
  if (driver != "gels") {
    const Tensor all = linalg_svdvals(A);
    if (driver != "gelsy") values = all;
    rank = zeros(batch_of_matrices(A), i64, A.device());
    if (all.size(-1) > 0)
      rank = sum(cast(gt(all, mul(max(all, -1, true), rcond.value_or(usual_cut(A)))), i64), -1);
  }
  Tensor residuals = zeros({0}, real_dtype, A.device());
  if (has_residuals(A, rank, driver)) {
    residuals = sum(squared_sizes(sub(matmul(matrices, solution), wanted)), -2);
    solution = copy(solution);  // who writes into it leaves the residuals' derivative alone
  }
  return {is_vector ? squeeze(solution, {-1}) : solution, residuals, rank, values};
}

}  // namespace bp
