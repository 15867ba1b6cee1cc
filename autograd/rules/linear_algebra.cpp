// Derivatives of factorizations (Giles 2008; Murray 2016), systems and determinants, of singular matrices too.
#include "rules.hpp"

namespace bp::autograd {
namespace {

Tensor solve_upper(const Tensor& A, const Tensor& B, bool left) {
  return linalg_solve_triangular(A, B, true, left);
}

// The lower half, mirrored to the upper one: Hermitian.
Tensor mirrored_lower(const Tensor& input) {
  if (!is_complex(input.dtype())) return tril(input) + adjoint(tril(input, -1));
  const Tensor half = (tril(input) + tril(input, -1)) * 0.5;
  return half + adjoint(half);
}

// Of each element the product of those before it.
Tensor product_before(const Tensor& input) {
  const std::int64_t size = input.size(-1);
  return cat({ones_like(narrow(input, -1, 0, 1)), narrow(cumprod(input, -1), -1, 0, size - 1)}, -1);
}

// For each pair of different elements of vectors the product of all others, without dividing by one; 0 on the diagonal.
Tensor products_without_two(const Tensor& values) {
  const Tensor before = product_before(values);
  const Tensor behind = flip(product_before(flip(values, {-1})), {-1});
  const Tensor row = unsqueeze(values, -2);
  Dims square(values.shape());
  square.push_back(values.size(-1));
  const Tensor is_behind = gt(triu(ones(square, values.dtype(), values.device()), 1), 0);
  const Tensor between = product_before(where(is_behind, row, 1));
  const Tensor upper = triu(mul(mul(unsqueeze(before, -1), between), unsqueeze(behind, -2)), 1);
  return upper + transpose(upper, -1, -2);
}

// For each matrix its number.
Tensor for_matrices(const Tensor& numbers) {
  return unsqueeze(unsqueeze(numbers, -1), -1);
}

}  // namespace

Tensor adjoint(const Tensor& input) {
  return transpose(conj(input), -1, -2);
}

Tensor imaginary(const Tensor& input) {
  return (input - conj(input)) * 0.5;
}

Tensor in_dtype_of(const Tensor& like, const Tensor& input) {
  return input.dtype() == like.dtype() ? input : cast(input, like.dtype());
}

Tensor added_up(const Tensor& sum, const Tensor& part) {
  return sum.defined() ? sum + part : part;
}

Tensor cholesky_gradient(const Tensor& grad, const Tensor& result, bool upper) {
  const Tensor L = upper ? adjoint(result) : result, grad_L = upper ? adjoint(grad) : grad;
  const Tensor inner = mirrored_lower(matmul(adjoint(L), grad_L)) * 0.5;
  return linalg_solve_triangular(L, solve_upper(adjoint(L), inner, true), false, false);
}

void triangular_gradients(const Tensor& grad, const Tensor& A, const Tensor& B,
                          const Tensor& result, bool upper, bool left, bool unitriangular,
                          std::span<Tensor> out) {
  const Tensor by_B = linalg_solve_triangular(adjoint(A), grad, !upper, left, unitriangular);
  const Tensor by_A = -(left ? matmul(by_B, adjoint(result)) : matmul(adjoint(result), by_B));
  const std::int64_t off = unitriangular ? 1 : 0;
  out[0] = sum_to(upper ? triu(by_A, off) : tril(by_A, -off), A);
  out[1] = sum_to(by_B, B);
}

// Of P A = L U with more rows or columns than the other, the rest is a solution of a system with the square part.
Tensor lu_gradient(const Tensor& grad, const Tensor& LU, const Tensor& pivots) {
  const LuUnpackResult parts = lu_unpack(LU, pivots);
  const std::int64_t rows = LU.size(-2), columns = LU.size(-1), size = std::min(rows, columns);
  const Tensor L = narrow(parts.L, -2, 0, size), U = narrow(parts.U, -1, 0, size);
  const Tensor grad_square = narrow(narrow(grad, -2, 0, size), -1, 0, size);
  Tensor by_L = matmul(adjoint(L), tril(grad_square, -1));
  Tensor by_U = matmul(triu(grad_square), adjoint(U));
  const auto through_L = [&](const Tensor& input) {
    return linalg_solve_triangular(adjoint(L), input, true, true, true);
  };
  Tensor rest;
  if (columns > size) {
    const std::int64_t more = columns - size;
    const Tensor grad_rest = narrow(grad, -1, size, more);
    by_L = by_L - matmul(grad_rest, adjoint(narrow(parts.U, -1, size, more)));
    rest = through_L(grad_rest);
  } else if (rows > size) {
    const std::int64_t more = rows - size;
    const Tensor grad_rest = narrow(grad, -2, size, more);
    by_U = by_U - matmul(adjoint(narrow(parts.L, -2, size, more)), grad_rest);
    rest = linalg_solve_triangular(adjoint(U), grad_rest, false, false);
  }
  const Tensor inner = tril(by_L, -1) + triu(by_U);
  Tensor all = through_L(linalg_solve_triangular(adjoint(U), inner, false, false));
  if (rest.defined()) all = cat({all, rest}, columns > size ? -1 : -2);
  return matmul(parts.P, all);
}

void solve_gradients(const Tensor& grad, const Tensor& A, const Tensor& B, const Tensor& result,
                     bool left, std::span<Tensor> out) {
  const bool is_vector = result.ndim() < A.ndim();
  const Tensor g = is_vector ? unsqueeze(grad, -1) : grad;
  const Tensor x = is_vector ? unsqueeze(result, -1) : result;
  const Tensor by_B = linalg_solve(adjoint(A), g, left);
  out[0] = sum_to(-(left ? matmul(by_B, adjoint(x)) : matmul(adjoint(x), by_B)), A);
  out[1] = sum_to(is_vector ? squeeze(by_B, {-1}) : by_B, B);
}

Tensor inverse_gradient(const Tensor& grad, const Tensor& result) {
  const Tensor other = adjoint(result);
  return -matmul(other, matmul(grad, other));
}

// A turn of the sign is one of the logarithm's imaginary part.
Tensor log_determinant_gradient(const Tensor& grad_sign, const Tensor& grad_logabsdet,
                                const Tensor& A) {
  Tensor by = grad_logabsdet;
  if (is_complex(A.dtype()) && grad_sign.defined())
    by = added_up(by, imaginary(grad_sign * conj(linalg_slogdet(A).sign)));
  return by.defined() ? for_matrices(by) * adjoint(linalg_inv(A)) : by;
}

Tensor determinant_gradient(const Tensor& grad, const Tensor& A) {
  return for_matrices(grad) * adjoint(linalg_adjugate(A));
}

// In the singular vectors' basis the matrix is diagonal, and each minor of it a product.
Tensor adjugate_gradient(const Tensor& grad, const Tensor& A) {
  if (A.numel() == 0) return zeros_like(A);
  const LinalgSvdResult of = linalg_svd(A, true);
  const Tensor sign = linalg_slogdet(of.U).sign * linalg_slogdet(of.Vh).sign;
  const Tensor others = in_dtype_of(A, products_without_two(of.S));
  const Tensor inside = matmul(adjoint(of.U), matmul(adjoint(grad), adjoint(of.Vh)));
  const Tensor own = matmul(others, unsqueeze(diagonal(inside, 0, -2, -1), -1));
  const Tensor all = diag_embed(conj(squeeze(own, {-1}))) - adjoint(others * inside);
  return matmul(of.U, matmul(all, of.Vh)) * for_matrices(conj(sign));
}

// A matrix wider than high is [X, Y] with R = [V, W]: V is X's, and W = Q^H Y. Columns of Q beyond the smaller size span what
// the others leave, and have no derivative of their own.
Tensor qr_gradient(const Tensor& grad_Q, const Tensor& grad_R, const Tensor& A, const Tensor& Q,
                   const Tensor& R, std::string_view mode) {
  const std::int64_t columns = A.size(-1), size = std::min(A.size(-2), columns);
  const std::int64_t more = columns - size;
  const bool has_Q = mode != "r";
  const Tensor V = narrow(narrow(R, -2, 0, size), -1, 0, size);
  const Tensor basis = has_Q ? narrow(Q, -1, 0, size)
                             : linalg_solve_triangular(V, narrow(A, -1, 0, size), true, false);
  Tensor by_Q, by_R, rest;
  if (has_Q && grad_Q.defined()) by_Q = narrow(grad_Q, -1, 0, size);
  if (grad_R.defined()) by_R = narrow(narrow(grad_R, -2, 0, size), -1, 0, size);
  if (more > 0 && grad_R.defined()) {
    const Tensor by_rest = narrow(narrow(grad_R, -2, 0, size), -1, size, more);
    by_Q = added_up(by_Q, matmul(narrow(A, -1, size, more), adjoint(by_rest)));
    rest = matmul(basis, by_rest);
  }
  Tensor inner;
  if (by_R.defined()) inner = matmul(V, adjoint(triu(by_R)));
  if (by_Q.defined()) inner = added_up(inner, -matmul(adjoint(by_Q), basis));
  if (!inner.defined()) return zeros_like(A);
  Tensor through = matmul(basis, mirrored_lower(inner));
  if (by_Q.defined()) through = through + by_Q;
  const Tensor square = linalg_solve_triangular(adjoint(V), through, false, false);
  if (more == 0) return square;
  if (!rest.defined()) rest = zeros_like(narrow(A, -1, size, more));
  return cat({square, rest}, -1);
}

Tensor pseudoinverse_gradient(const Tensor& grad, const Tensor& input, const Tensor& result) {
  const Tensor other = adjoint(result), by = adjoint(grad);
  const Tensor by_columns = by - matmul(input, matmul(result, by));
  const Tensor by_rows = by - matmul(matmul(by, result), input);
  return matmul(matmul(by_columns, result), other) + matmul(other, matmul(result, by_rows)) -
         matmul(other, matmul(grad, other));
}

}  // namespace bp::autograd
