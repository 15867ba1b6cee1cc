#include "decompositions/eigen.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>
#include <vector>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/promotion.hpp>

#include "decompositions/complex.hpp"
#include "decompositions/matrices.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

using RealNumbers = std::vector<double>;
using ComplexNumbers = std::vector<std::complex<double>>;

// The largest of the numbers, `count` parts, as a power of two; infinity or NaN if one is not finite.
double scale_of(const double* parts, std::size_t count) {
  double largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(parts[i])) return parts[i];
    largest = std::max(largest, std::fabs(parts[i]));
  }
  return largest == 0 ? 1 : std::exp2(std::ilogb(largest));
}

// The numbers, or the parts of complex ones.
RealNumbers parts_of(const Tensor& A) {
  const Tensor parts = is_complex(A.dtype()) ? view_as_real(A) : A;
  if (parts.dtype() == f64) return to_vector<double>(parts);
  const std::vector<float> narrow = to_vector<float>(parts);
  return {narrow.begin(), narrow.end()};
}

// Pairs of A's dtype: not every device has the wider one.
template <class T>
Tensor tensor_like(const Tensor& A, const ComplexNumbers& numbers, IntList shape) {
  std::vector<T> pairs;
  for (const auto& each : numbers) {
    pairs.push_back(static_cast<T>(each.real()));
    pairs.push_back(static_cast<T>(each.imag()));
  }
  Dims of_pairs(shape);
  of_pairs.push_back(2);
  return complex_of_pairs(tensor(pairs, of_pairs, {{}, A.device()}));
}

bool make_schur(RealNumbers& matrix, RealNumbers& basis, std::int64_t n) {
  return make_real_schur(matrix.data(), basis.data(), n);
}
bool make_schur(ComplexNumbers& matrix, ComplexNumbers& basis, std::int64_t n) {
  return make_complex_schur(matrix.data(), basis.data(), n);
}

// All NaN if there are none.
template <class T>
void eigen_of_matrix(const double* parts, std::int64_t n, ComplexNumbers& values,
                     ComplexNumbers& vectors) {
  const double scale = scale_of(parts, vectors.size() * sizeof(T) / sizeof(double));
  const T* const numbers = reinterpret_cast<const T*>(parts);
  std::vector<T> matrix(numbers, numbers + vectors.size()), basis(vectors.size());
  for (T& each : matrix) each /= scale;
  if (std::isfinite(scale) && make_schur(matrix, basis, n)) {
    eigen_of_schur(matrix.data(), basis.data(), n, values.data(), vectors.data());
    for (auto& each : values) each *= scale;
    return;
  }
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  std::fill(values.begin(), values.end(), std::complex(nan, nan));
  std::fill(vectors.begin(), vectors.end(), std::complex(nan, nan));
}

// By real parts, then by imaginary parts. NaNs are as they are: all of them, or none.
std::vector<std::size_t> order_of(const ComplexNumbers& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (values[a].real() != values[b].real()) return values[a].real() < values[b].real();
    return values[a].imag() < values[b].imag();
  });
  return order;
}

// Writes matrix `number` of all.
void put_in_order(const ComplexNumbers& own, const ComplexNumbers& columns, std::size_t number,
                  ComplexNumbers& values, ComplexNumbers& vectors) {
  const std::size_t n = own.size();
  const std::vector<std::size_t> order = order_of(own);
  for (std::size_t j = 0; j < n; ++j) {
    values[number * n + j] = own[order[j]];
    for (std::size_t i = 0; i < n; ++i)
      vectors[(number * n + i) * n + j] = columns[i * n + order[j]];
  }
}

}  // namespace

LinalgEigResult eig_on_host(const Tensor& A) {
  check_square("linalg_eig", "A", A);
  const std::int64_t n = A.size(-1);
  const Dims shape = batch_of_vectors(A, n);
  if (is_shape_alone(A)) {
    const Dtype dtype = to_complex(to_real(A.dtype()));
    return {zeros(shape, dtype, A.device()), zeros(A.shape(), dtype, A.device())};
  }
  const RealNumbers given = parts_of(A);
  const auto size = static_cast<std::size_t>(n), count = static_cast<std::size_t>(A.numel());
  ComplexNumbers values(count / size), vectors(count);
  ComplexNumbers own(size), columns(size * size);
  for (std::size_t i = 0; i * columns.size() < count; ++i) {
    const double* const from = given.data() + i * columns.size() * (given.size() / count);
    is_complex(A.dtype()) ? eigen_of_matrix<std::complex<double>>(from, n, own, columns)
                          : eigen_of_matrix<double>(from, n, own, columns);
    put_in_order(own, columns, i, values, vectors);
  }
  if (to_real(A.dtype()) == f64)
    return {tensor_like<double>(A, values, shape), tensor_like<double>(A, vectors, A.shape())};
  return {tensor_like<float>(A, values, shape), tensor_like<float>(A, vectors, A.shape())};
}

}  // namespace bp
