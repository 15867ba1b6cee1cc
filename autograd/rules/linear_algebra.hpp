// What the derivatives of factorizations, systems and determinants are written with.
#pragma once

#include <span>
#include <string_view>

#include <backplane/core_ops/generated/all.hpp>

namespace bp::autograd {

// The conjugate transpose of matrices; of real ones a view.
Tensor adjoint(const Tensor& input);
// What is left of complex numbers without their real parts, still complex.
Tensor imaginary(const Tensor& input);
Tensor in_dtype_of(const Tensor& like, const Tensor& input);
// The sum, of which the first part may not have come.
Tensor added_up(const Tensor& sum, const Tensor& part);

Tensor cholesky_gradient(const Tensor& grad, const Tensor& result, bool upper);
void triangular_gradients(const Tensor& grad, const Tensor& A, const Tensor& B,
                          const Tensor& result, bool upper, bool left, bool unitriangular,
                          std::span<Tensor> out);
Tensor lu_gradient(const Tensor& grad, const Tensor& LU, const Tensor& pivots);
void solve_gradients(const Tensor& grad, const Tensor& A, const Tensor& B, const Tensor& result,
                     bool left, std::span<Tensor> out);
Tensor inverse_gradient(const Tensor& grad, const Tensor& result);
// Of a determinant's sign, which is constant for real matrices, and the logarithm of its size.
Tensor log_determinant_gradient(const Tensor& grad_sign, const Tensor& grad_logabsdet,
                                const Tensor& A);
Tensor determinant_gradient(const Tensor& grad, const Tensor& A);
Tensor adjugate_gradient(const Tensor& grad, const Tensor& A);
Tensor qr_gradient(const Tensor& grad_Q, const Tensor& grad_R, const Tensor& A, const Tensor& Q,
                   const Tensor& R, std::string_view mode);
Tensor eigh_gradient(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                     const Tensor& vectors);
// Of matrices of this dtype.
Tensor eig_gradient(const Tensor& grad_values, const Tensor& grad_vectors, Dtype dtype,
                    const Tensor& values, const Tensor& vectors);
Tensor svd_gradient(const Tensor& grad_U, const Tensor& grad_S, const Tensor& grad_Vh,
                    const Tensor& U, const Tensor& S, const Tensor& Vh);
// Of matrices whose rank does not change (Golub and Pereyra 1973).
Tensor pseudoinverse_gradient(const Tensor& grad, const Tensor& input, const Tensor& result);

}  // namespace bp::autograd
