// Derivatives of determinants of any rank, and of eigenvalues of matrices that are not symmetric.
#include "rules.hpp"

namespace bp::autograd {
namespace {

Tensor transposed(const Tensor& input) {
  return transpose(input, -1, -2);
}

Tensor ones_on_diagonal(const Tensor& like) {
  return eye(like.size(-1), std::nullopt, like.dtype(), like.device());
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
  return upper + transposed(upper);
}

// Real and imaginary parts, so that what is real stays so through all derivatives.
struct Parts {
  Tensor re, im;
};

Parts parts_of(const Tensor& complex) {
  const Tensor pairs = view_as_real(complex);
  return {select(pairs, -1, 0), select(pairs, -1, 1)};
}

Parts adjoint(const Parts& of) {
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

// Of each column 1 at the component that is real, as linalg_eig chooses it, else 0.
Tensor chosen_components(const Parts& vectors) {
  const Tensor sizes = vectors.re * vectors.re + vectors.im * vectors.im;
  const Tensor are_large = cast(ge(sizes, max(sizes, -2, true) * 0.998001), i32);
  const Tensor places = unsqueeze(arange(0, sizes.size(-2), 1, i64, sizes.device()), -1);
  return cast(eq(places, argmax(are_large, -2, true)), sizes.dtype());
}

// By what the vectors would be if they had neither a length of 1 nor a real component.
Parts by_free_vectors(const Parts& grad, const Parts& vectors) {
  const Tensor along = sum(grad.re * vectors.re + grad.im * vectors.im, -2, true);
  const Tensor across = sum(grad.re * vectors.im - grad.im * vectors.re, -2, true);
  const Tensor chosen = chosen_components(vectors);
  const Tensor size = sum(vectors.re * chosen, -2, true);
  return {grad.re - along * vectors.re, grad.im - along * vectors.im + chosen * (across / size)};
}

// The real part of X in A X = B.
Tensor real_solution(const Parts& A, const Parts& B) {
  const Tensor both = cat({cat({A.re, -A.im}, -1), cat({A.im, A.re}, -1)}, -2);
  return narrow(linalg_solve(both, cat({B.re, B.im}, -2)), -2, 0, A.re.size(-2));
}

}  // namespace

Tensor determinant_gradient(const Tensor& grad, const Tensor& A) {
  return unsqueeze(unsqueeze(grad, -1), -1) * transposed(linalg_adjugate(A));
}

// In the singular vectors' basis the matrix is diagonal, and each minor of it a product.
Tensor adjugate_gradient(const Tensor& grad, const Tensor& A) {
  if (A.numel() == 0) return zeros_like(A);
  const LinalgSvdResult of = linalg_svd(A, true);
  const Tensor sign = linalg_slogdet(of.U).sign * linalg_slogdet(of.Vh).sign;
  const Tensor others = products_without_two(of.S);
  const Tensor inside = matmul(transposed(of.U), matmul(transposed(grad), transposed(of.Vh)));
  const Tensor own = matmul(others, unsqueeze(diagonal(inside, 0, -2, -1), -1));
  const Tensor all = diag_embed(squeeze(own, {-1})) - transposed(others * inside);
  return matmul(of.U, matmul(all, of.Vh)) * unsqueeze(unsqueeze(sign, -1), -1);
}

// Perturbation of first order: the vectors move among each other by what the gaps between eigenvalues allow.
Tensor eig_gradient(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                    const Tensor& vectors) {
  const Parts V = parts_of(vectors), back = adjoint(V);
  if (V.re.numel() == 0) return zeros_like(V.re);
  Parts inner;
  if (grad_values.defined()) {
    const Parts by = parts_of(grad_values);
    inner = {diag_embed(by.re), diag_embed(by.im)};
  }
  if (grad_vectors.defined()) {
    const Parts of = parts_of(values), by = by_free_vectors(parts_of(grad_vectors), V);
    const Tensor one = ones_on_diagonal(V.re), others = 1 - one;
    const Parts gaps{unsqueeze(of.re, -2) - unsqueeze(of.re, -1) + one,
                     unsqueeze(of.im, -2) - unsqueeze(of.im, -1)};
    const Parts moved = divided_by_conjugate(product(back, by), gaps);
    const Parts free{moved.re * others, moved.im * others};
    inner = inner.re.defined() ? Parts{inner.re + free.re, inner.im + free.im} : free;
  }
  return real_solution(back, product(inner, back));
}

}  // namespace bp::autograd
