// Complex matrices in double precision, in plain loops: what LAPACK's factors are multiplied with again.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "direct_call.hpp"

namespace bp_test {

using Number = std::complex<double>;

struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<Number> numbers = std::vector<Number>(static_cast<size_t>(rows * columns));

  Number& at(int64_t i, int64_t j) { return numbers[static_cast<size_t>(i * columns + j)]; }
  Number at(int64_t i, int64_t j) const { return numbers[static_cast<size_t>(i * columns + j)]; }
};

// Parts between -1 and 1.
inline Matrix random_matrix(int64_t rows, int64_t columns, uint64_t seed) {
  Matrix made{rows, columns};
  const auto next = [&] {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(seed >> 40) / (1 << 23) - 1;
  };
  for (Number& each : made.numbers) {
    const double re = next();
    each = {re, next()};
  }
  return made;
}

inline Matrix adjoint(const Matrix& a) {
  Matrix made{a.columns, a.rows};
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < a.columns; ++j) made.at(j, i) = std::conj(a.at(i, j));
  return made;
}

// By parts, so that NaN and infinities stay in the elements that they belong to.
inline Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix made{a.rows, b.columns};
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t k = 0; k < a.columns; ++k) {
      const double re = a.at(i, k).real(), im = a.at(i, k).imag();
      const auto* from = reinterpret_cast<const double*>(b.numbers.data() + k * b.columns);
      auto* to = reinterpret_cast<double*>(made.numbers.data() + i * b.columns);
      for (int64_t j = 0; j < b.columns; ++j, from += 2, to += 2) {
        to[0] += re * from[0] - im * from[1];
        to[1] += re * from[1] + im * from[0];
      }
    }
  return made;
}

inline Matrix identity(int64_t rows, int64_t columns) {
  Matrix made{rows, columns};
  for (int64_t i = 0; i < std::min(rows, columns); ++i) made.at(i, i) = 1;
  return made;
}
inline Matrix identity(int64_t n) {
  return identity(n, n);
}

// Those on the diagonal of a matrix.
inline Matrix diagonal(const std::vector<Number>& numbers, int64_t rows, int64_t columns) {
  Matrix made{rows, columns};
  for (size_t i = 0; i < numbers.size(); ++i)
    made.at(static_cast<int64_t>(i), static_cast<int64_t>(i)) = numbers[i];
  return made;
}

// Without what is below the diagonal, or above it.
inline Matrix half(Matrix a, bool upper) {
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < a.columns; ++j)
      if (upper ? j < i : j > i) a.at(i, j) = 0;
  return a;
}

// NaN if there is one.
inline double distance(const Matrix& a, const Matrix& b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.columns, b.columns);
  double worst = 0;
  for (size_t i = 0; i < a.numbers.size(); ++i) {
    const double each = std::abs(a.numbers[i] - b.numbers[i]);
    if (!(each <= worst)) worst = each;
    if (std::isnan(each)) return each;
  }
  return worst;
}

inline Matrix hermitian(int64_t n, uint64_t seed) {
  const Matrix a = random_matrix(n, n, seed), b = adjoint(a);
  Matrix sum = a;
  for (size_t i = 0; i < sum.numbers.size(); ++i) sum.numbers[i] += b.numbers[i];
  return sum;
}

inline Matrix positive_definite(int64_t n, uint64_t seed) {
  const Matrix a = random_matrix(n, n, seed);
  Matrix product = a * adjoint(a);
  for (int64_t i = 0; i < n; ++i) product.at(i, i) += static_cast<double>(n);
  return product;
}

enum class Layout { rows, columns, gaps };

// A batch of matrices with elements of `C`, in memory by rows, by columns, or with gaps.
template <class C> Data data_of_matrices(const std::vector<Matrix>& matrices, Layout layout) {
  const int64_t rows = matrices[0].rows, columns = matrices[0].columns;
  const auto count = static_cast<int64_t>(matrices.size());
  const Sizes shape{count, rows, columns};
  const Sizes strides = layout == Layout::rows      ? strides_for(shape)
                        : layout == Layout::columns ? Sizes{rows * columns, 1, rows}
                                                    : Sizes{rows * columns * 6, columns * 6, 3};
  Data data(sizeof(C) == 8 ? BP_COMPLEX64 : BP_COMPLEX128, shape, strides);
  int64_t element = 0;
  for (const Matrix& each : matrices)
    for (const Number number : each.numbers) data.at<C>(element++) = C(number);
  return data;
}

// Matrix `index` of a batch, a vector as one row.
template <class C> Matrix matrix_of(Data& data, int64_t index = 0) {
  const Sizes& shape = data.shape();
  Matrix made{shape[shape.size() - 2], shape.back()};
  for (size_t i = 0; i < made.numbers.size(); ++i)
    made.numbers[i] = Number(
        data.at<C>(index * static_cast<int64_t>(made.numbers.size()) + static_cast<int64_t>(i)));
  return made;
}

}  // namespace bp_test
