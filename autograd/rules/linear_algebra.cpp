// Derivatives of factorizations (Giles 2008; Murray 2016), systems and determinants.
#include "rules.hpp"

namespace bp::autograd {
namespace {

Tensor turned(const Tensor& input) {
  return transpose(input, -1, -2);
}

Tensor eye_for(const Tensor& input) {
  return eye(input.size(-1), std::nullopt, input.dtype(), input.device());
}

Tensor added_up(const Tensor& sum, const Tensor& part) {
  return sum.defined() ? sum + part : part;
}

Tensor solve_upper(const Tensor& A, const Tensor& B, bool left) {
  return linalg_solve_triangular(A, B, true, left);
}

// The lower half, mirrored to the upper one.
Tensor mirrored_lower(const Tensor& input) {
  return tril(input) + turned(tril(input, -1));
}

Tensor skew(const Tensor& input) {
  return input - turned(input);
}

}  // namespace

Tensor cholesky_gradient(const Tensor& grad, const Tensor& result, bool upper) {
  const Tensor L = upper ? turned(result) : result, grad_L = upper ? turned(grad) : grad;
  const Tensor inner = mirrored_lower(matmul(turned(L), grad_L)) * 0.5;
  return linalg_solve_triangular(L, solve_upper(turned(L), inner, true), false, false);
}

void triangular_gradients(const Tensor& grad, const Tensor& A, const Tensor& B,
                          const Tensor& result, bool upper, bool left, bool unitriangular,
                          std::span<Tensor> out) {
  const Tensor by_B = linalg_solve_triangular(turned(A), grad, !upper, left, unitriangular);
  const Tensor by_A = -(left ? matmul(by_B, turned(result)) : matmul(turned(result), by_B));
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
  Tensor by_L = matmul(turned(L), tril(grad_square, -1));
  Tensor by_U = matmul(triu(grad_square), turned(U));
  const auto through_L = [&](const Tensor& input) {
    return linalg_solve_triangular(turned(L), input, true, true, true);
  };
  Tensor rest;
  if (columns > size) {
    const std::int64_t more = columns - size;
    const Tensor grad_rest = narrow(grad, -1, size, more);
    by_L = by_L - matmul(grad_rest, turned(narrow(parts.U, -1, size, more)));
    rest = through_L(grad_rest);
  } else if (rows > size) {
    const std::int64_t more = rows - size;
    const Tensor grad_rest = narrow(grad, -2, size, more);
    by_U = by_U - matmul(turned(narrow(parts.L, -2, size, more)), grad_rest);
    rest = linalg_solve_triangular(turned(U), grad_rest, false, false);
  }
  const Tensor inner = tril(by_L, -1) + triu(by_U);
  Tensor all = through_L(linalg_solve_triangular(turned(U), inner, false, false));
  if (rest.defined()) all = cat({all, rest}, columns > size ? -1 : -2);
  return matmul(parts.P, all);
}

void solve_gradients(const Tensor& grad, const Tensor& A, const Tensor& B, const Tensor& result,
                     bool left, std::span<Tensor> out) {
  const bool is_vector = result.ndim() < A.ndim();
  const Tensor g = is_vector ? unsqueeze(grad, -1) : grad;
  const Tensor x = is_vector ? unsqueeze(result, -1) : result;
  const Tensor by_B = linalg_solve(turned(A), g, left);
  out[0] = sum_to(-(left ? matmul(by_B, turned(x)) : matmul(turned(x), by_B)), A);
  out[1] = sum_to(is_vector ? squeeze(by_B, {-1}) : by_B, B);
}

Tensor inverse_gradient(const Tensor& grad, const Tensor& result) {
  const Tensor other = turned(result);
  return -matmul(other, matmul(grad, other));
}

Tensor log_determinant_gradient(const Tensor& grad, const Tensor& A) {
  return unsqueeze(unsqueeze(grad, -1), -1) * turned(linalg_inv(A));
}

// A matrix wider than high is [X, Y] with R = [V, W]: V is X's, and W = Q^T Y. Columns of Q beyond the smaller size span what
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
    by_Q = added_up(by_Q, matmul(narrow(A, -1, size, more), turned(by_rest)));
    rest = matmul(basis, by_rest);
  }
  Tensor inner;
  if (by_R.defined()) inner = matmul(V, turned(triu(by_R)));
  if (by_Q.defined()) inner = added_up(inner, -matmul(turned(by_Q), basis));
  if (!inner.defined()) return zeros_like(A);
  Tensor through = matmul(basis, mirrored_lower(inner));
  if (by_Q.defined()) through = through + by_Q;
  const Tensor square = linalg_solve_triangular(turned(V), through, false, false);
  if (more == 0) return square;
  if (!rest.defined()) rest = zeros_like(narrow(A, -1, size, more));
  return cat({square, rest}, -1);
}

Tensor eigh_gradient(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                     const Tensor& vectors) {
  Tensor inner;
  if (grad_vectors.defined()) {
    const Tensor one = eye_for(vectors);
    const Tensor gaps = unsqueeze(values, -2) - unsqueeze(values, -1) + one;
    inner = matmul(turned(vectors), grad_vectors) / gaps * (1 - one);
  }
  if (grad_values.defined()) inner = added_up(inner, diag_embed(grad_values));
  const Tensor all = matmul(vectors, matmul(inner, turned(vectors)));
  return (all + turned(all)) * 0.5;
}

// Vectors beyond the smaller size span what the others leave, and have no derivative of their own.
Tensor svd_gradient(const Tensor& grad_U, const Tensor& grad_S, const Tensor& grad_Vh,
                    const Tensor& U, const Tensor& S, const Tensor& Vh) {
  const std::int64_t size = S.size(-1);
  const Tensor left = narrow(U, -1, 0, size), right = turned(narrow(Vh, -2, 0, size));
  const Tensor one = eye(size, std::nullopt, S.dtype(), S.device());
  const Tensor along_rows = unsqueeze(S, -1), along_columns = unsqueeze(S, -2);
  const Tensor gaps = (along_columns - along_rows) * (along_columns + along_rows) + one;
  Tensor inner, outside_left, outside_right;
  if (grad_S.defined()) inner = diag_embed(grad_S);
  if (grad_U.defined()) {
    const Tensor by = narrow(grad_U, -1, 0, size);
    const Tensor inside = matmul(turned(left), by);
    inner = added_up(inner, skew(inside) / gaps * along_columns);
    if (U.size(-2) > size) outside_left = (by - matmul(left, inside)) / along_columns;
  }
  if (grad_Vh.defined()) {
    const Tensor by = turned(narrow(grad_Vh, -2, 0, size));
    const Tensor inside = matmul(turned(right), by);
    inner = added_up(inner, along_rows * (skew(inside) / gaps));
    if (Vh.size(-1) > size) outside_right = (by - matmul(right, inside)) / along_columns;
  }
  Tensor all = matmul(left, matmul(inner, turned(right)));
  if (outside_left.defined()) all = all + matmul(outside_left, turned(right));
  return outside_right.defined() ? all + matmul(left, turned(outside_right)) : all;
}

Tensor pseudoinverse_gradient(const Tensor& grad, const Tensor& input, const Tensor& result) {
  const Tensor other = turned(result), by = turned(grad);
  const Tensor by_columns = by - matmul(input, matmul(result, by));
  const Tensor by_rows = by - matmul(matmul(by, result), input);
  return matmul(matmul(by_columns, result), other) + matmul(other, matmul(result, by_rows)) -
         matmul(other, matmul(grad, other));
}

}  // namespace bp::autograd
