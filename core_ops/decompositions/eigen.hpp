// Eigenvalues of matrices that are not symmetric.
#pragma once

#include <complex>
#include <cstdint>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

// The host reads the matrices, since how many steps the iteration takes depends on them.
LinalgEigResult eig_on_host(const Tensor& A);

// Makes of `matrix`, n by n and row-major, T = Q^T matrix Q, which is zero below the diagonal but for blocks of two rows for each pair
// of complex eigenvalues, and of `basis` Q. False: the iteration did not end. (Golub and Van Loan, Matrix Computations, 7.5.)
bool make_real_schur(double* matrix, double* basis, std::int64_t n);
// The same of a complex one, T = Q^H matrix Q, which is zero below the diagonal.
bool make_complex_schur(std::complex<double>* matrix, std::complex<double>* basis, std::int64_t n);
// The eigenvalues and the eigenvectors, as columns, of the matrix that `triangle` and `basis` were made of.
void eigen_of_schur(const double* triangle, const double* basis, std::int64_t n,
                    std::complex<double>* values, std::complex<double>* vectors);
void eigen_of_schur(const std::complex<double>* triangle, const std::complex<double>* basis,
                    std::int64_t n, std::complex<double>* values, std::complex<double>* vectors);

}  // namespace bp
