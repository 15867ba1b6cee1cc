// Derivatives of eigenvalues and singular values, and of their vectors, whose phases are as the rows choose them: the
// largest component of each is real.
#include "rules.hpp"

namespace bp::autograd {
namespace {

Tensor eye_for(const Tensor& values) {
  return eye(values.size(-1), std::nullopt, values.dtype(), values.device());
}

Tensor skew(const Tensor& input) {
  return input - adjoint(input);
}

// Of each column, given as squares of its components' sizes, 1 at the component that was chosen, else 0.
Tensor chosen_components(const Tensor& squares) {
  const Tensor are_large = cast(ge(squares, max(squares, -2, true) * 0.998001), i32);
  const Tensor places = unsqueeze(arange(0, squares.size(-2), 1, i64, squares.device()), -1);
  return cast(eq(places, argmax(are_large, -2, true)), squares.dtype());
}

// What a turn of each column's phase does, [..., 1, columns] and imaginary.
Tensor by_phases(const Tensor& grad, const Tensor& vectors) {
  return imaginary(sum(grad * conj(vectors), -2, true));
}

// By vectors whose phases move, where a turn back makes the chosen components real again.
Tensor by_turns_back(const Tensor& by_phase, const Tensor& vectors) {
  const Tensor parts = view_as_real(vectors);
  const Tensor chosen = in_dtype_of(vectors, chosen_components(sum(parts * parts, -1)));
  return -(chosen * (by_phase / sum(vectors * chosen, -2, true)));
}

// By what the vectors would be if none had a real component.
Tensor by_turning_vectors(const Tensor& grad, const Tensor& vectors) {
  if (!is_complex(vectors.dtype()) || vectors.numel() == 0) return grad;
  return grad + by_turns_back(by_phases(grad, vectors), vectors);
}

// The same of singular vectors, the right ones of which turn with the left.
Tensor by_turning_pairs(const Tensor& grad_left, const Tensor& left, const Tensor& grad_right,
                        const Tensor& right) {
  if (!is_complex(left.dtype()) || left.numel() == 0) return grad_left;
  Tensor by_phase;
  if (grad_left.defined()) by_phase = by_phases(grad_left, left);
  if (grad_right.defined()) by_phase = added_up(by_phase, by_phases(grad_right, right));
  return added_up(grad_left, by_turns_back(by_phase, left));
}

// Real and imaginary parts, so that what is real stays so through all derivatives.
struct Parts {
  Tensor re, im;
};

Parts parts_of(const Tensor& complex) {
  const Tensor pairs = view_as_real(complex);
  return {select(pairs, -1, 0), select(pairs, -1, 1)};
}

Tensor complex_of(const Parts& of) {
  return view_as_complex(stack({of.re, of.im}, -1));
}

Tensor transposed(const Tensor& input) {
  return transpose(input, -1, -2);
}

Parts adjoint_parts(const Parts& of) {
  return {transposed(of.re), -transposed(of.im)};
}

Parts product(const Parts& a, const Parts& b) {
  return {matmul(a.re, b.re) - matmul(a.im, b.im), matmul(a.re, b.im) + matmul(a.im, b.re)};
}

// a / conj(b) of each element.
Parts divided_by_conjugate(const Parts& a, const Parts& b) {
  const Tensor size = b.re * b.re + b.im * b.im;
  return {(a.re * b.re - a.im * b.im) / size, (a.im * b.re + a.re * b.im) / size};
}

// By what the vectors would be if they had neither a length of 1 nor a real component.
Parts by_free_vectors(const Parts& grad, const Parts& vectors) {
  const Tensor along = sum(grad.re * vectors.re + grad.im * vectors.im, -2, true);
  const Tensor across = sum(grad.re * vectors.im - grad.im * vectors.re, -2, true);
  const Tensor chosen = chosen_components(vectors.re * vectors.re + vectors.im * vectors.im);
  const Tensor size = sum(vectors.re * chosen, -2, true);
  return {grad.re - along * vectors.re, grad.im - along * vectors.im + chosen * (across / size)};
}

// The real part of X in A X = B.
Tensor real_solution(const Parts& A, const Parts& B) {
  const Tensor both = cat({cat({A.re, -A.im}, -1), cat({A.im, A.re}, -1)}, -2);
  return narrow(linalg_solve(both, cat({B.re, B.im}, -2)), -2, 0, A.re.size(-2));
}

}  // namespace

Tensor eigh_gradient(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                     const Tensor& vectors) {
  Tensor inner;
  if (grad_vectors.defined()) {
    const Tensor one = eye_for(values);
    const Tensor gaps = unsqueeze(values, -2) - unsqueeze(values, -1) + one;
    const Tensor by = by_turning_vectors(grad_vectors, vectors);
    inner = matmul(adjoint(vectors), by) / gaps * (1 - one);
  }
  if (grad_values.defined()) inner = added_up(inner, in_dtype_of(vectors, diag_embed(grad_values)));
  const Tensor all = matmul(vectors, matmul(inner, adjoint(vectors)));
  return (all + adjoint(all)) * 0.5;
}

// Vectors beyond the smaller size span what the others leave, and have no derivative of their own.
// An imaginary part on the diagonal of U^H A V turns a right vector against its left one, by -i / S. What turns both is
// by_turning_pairs'.
Tensor svd_gradient(const Tensor& grad_U, const Tensor& grad_S, const Tensor& grad_Vh,
                    const Tensor& U, const Tensor& S, const Tensor& Vh) {
  const std::int64_t size = S.size(-1);
  const Tensor left = narrow(U, -1, 0, size), right = adjoint(narrow(Vh, -2, 0, size));
  const Tensor one = eye_for(S);
  const Tensor along_rows = unsqueeze(S, -1), along_columns = unsqueeze(S, -2);
  const Tensor gaps = (along_columns - along_rows) * (along_columns + along_rows) + one;
  Tensor by_left, by_right, inner, outside_left, outside_right;
  if (grad_U.defined()) by_left = narrow(grad_U, -1, 0, size);
  if (grad_Vh.defined()) by_right = adjoint(narrow(grad_Vh, -2, 0, size));
  if (grad_U.defined() || grad_Vh.defined())
    by_left = by_turning_pairs(by_left, left, by_right, right);
  const bool turns = is_complex(U.dtype());
  if (grad_S.defined()) inner = in_dtype_of(U, diag_embed(grad_S));
  if (by_left.defined()) {
    const Tensor inside = matmul(adjoint(left), by_left);
    const Tensor moved = skew(inside) / gaps * along_columns;
    inner = added_up(inner, turns ? moved * (1 - one) : moved);
    if (U.size(-2) > size) outside_left = (by_left - matmul(left, inside)) / along_columns;
  }
  if (by_right.defined()) {
    const Tensor inside = matmul(adjoint(right), by_right);
    const Tensor turned = skew(inside), moved = along_rows * (turned / gaps);
    inner = added_up(inner, turns ? moved * (1 - one) - turned / (along_rows * 2) * one : moved);
    if (Vh.size(-1) > size) outside_right = (by_right - matmul(right, inside)) / along_columns;
  }
  Tensor all = matmul(left, matmul(inner, adjoint(right)));
  if (outside_left.defined()) all = all + matmul(outside_left, adjoint(right));
  return outside_right.defined() ? all + matmul(left, adjoint(outside_right)) : all;
}

// Perturbation of first order: the vectors move among each other by what the gaps between eigenvalues allow.
Tensor eig_gradient(const Tensor& grad_values, const Tensor& grad_vectors, Dtype dtype,
                    const Tensor& values, const Tensor& vectors) {
  const Parts V = parts_of(vectors), back = adjoint_parts(V);
  if (V.re.numel() == 0) return is_complex(dtype) ? zeros_like(vectors) : zeros_like(V.re);
  Parts inner;
  if (grad_values.defined()) {
    const Parts by = parts_of(grad_values);
    inner = {diag_embed(by.re), diag_embed(by.im)};
  }
  if (grad_vectors.defined()) {
    const Parts of = parts_of(values), by = by_free_vectors(parts_of(grad_vectors), V);
    const Tensor one = eye_for(V.re), others = 1 - one;
    const Parts gaps{unsqueeze(of.re, -2) - unsqueeze(of.re, -1) + one,
                     unsqueeze(of.im, -2) - unsqueeze(of.im, -1)};
    const Parts moved = divided_by_conjugate(product(back, by), gaps);
    const Parts free{moved.re * others, moved.im * others};
    inner = inner.re.defined() ? Parts{inner.re + free.re, inner.im + free.im} : free;
  }
  const Parts all = product(inner, back);
  return is_complex(dtype) ? linalg_solve(complex_of(back), complex_of(all))
                           : real_solution(back, all);
}

}  // namespace bp::autograd
