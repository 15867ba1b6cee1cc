// Matrices that have the factors which samples ask for.
#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include <backplane/core_ops/creation.hpp>

#include "draft.hpp"

namespace bp {
namespace {

// Those of real matrices have no imaginary parts.
using Elements = std::vector<std::complex<double>>;

void add_dominant(Elements& matrix, std::size_t rows, std::size_t columns) {
  const std::size_t size = std::min(rows, columns);
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t row = rows == size ? (i + 1) % rows : i, column = i;
    matrix[row * columns + column] += 2 + 2 * static_cast<double>(size - i);
  }
}

Elements times_adjoint(const Elements& matrix, std::size_t size) {
  Elements product(size * size);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t k = 0; k < size; ++k)
      for (std::size_t j = 0; j < size; ++j)
        product[i * size + k] += matrix[i * size + j] * std::conj(matrix[k * size + j]);
  return product;
}

void add_separated(Elements& matrix, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t k = 0; k < i; ++k) matrix[i * size + k] = std::conj(matrix[k * size + i]);
    matrix[i * size + i] = matrix[i * size + i].real();
    matrix[i * size + i] += 3 * static_cast<double>(size - i) - static_cast<double>(size);
  }
}

// Blocks of two rows that turn by more the further down they stand, and something small around them.
void add_turning(Elements& matrix, std::size_t size) {
  for (auto& element : matrix) element /= 4;
  for (std::size_t i = 0; i < size; ++i) {
    const double place = 2 * static_cast<double>(i / 2);
    matrix[i * size + i] += place;
    const std::size_t other = i ^ 1u;
    if (other < size) matrix[i * size + other] += other > i ? 2 + place : -1 - place;
  }
}

}  // namespace

double Draft::next_fraction() {
  return (next_random() & 0xff) / 128.0 - 1;
}

// Row i goes to a row from i on, up to the last one.
Tensor Draft::counted(IntList shape) {
  const std::int64_t length = shape[shape.size() - 1];
  std::vector<Scalar> numbers;
  for (std::int64_t i = 0; i < checked_numel("counted", shape); ++i) {
    const std::int64_t place = i % length, left = length - place;
    numbers.push_back(place + 1 + static_cast<std::int64_t>(next_random()) % left);
  }
  return from_numbers(shape, i32, numbers);
}

Tensor Draft::matrices(IntList shape, Matrices kind) {
  const Tensor laid = tensor(shape);
  if (device_ == meta_device || laid.numel() == 0) return laid;
  const auto rows = static_cast<std::size_t>(shape[shape.size() - 2]);
  const auto columns = static_cast<std::size_t>(shape[shape.size() - 1]);
  std::vector<Scalar> numbers;
  while (numbers.size() < static_cast<std::size_t>(laid.numel())) {
    Elements matrix(rows * columns);
    for (auto& element : matrix) element = next_fraction();
    if (is_complex(dtype_))
      for (auto& element : matrix) element.imag(next_fraction() / 2);
    if (kind == Matrices::dominant) add_dominant(matrix, rows, columns);
    if (kind == Matrices::positive) matrix = times_adjoint(matrix, rows);
    if (kind == Matrices::separated) add_separated(matrix, rows);
    if (kind == Matrices::turning) add_turning(matrix, rows);
    if (kind == Matrices::triangular)
      for (auto& element : matrix) element /= std::sqrt(static_cast<double>(rows));
    for (std::size_t i = 0; i < std::min(rows, columns); ++i) {
      if (kind == Matrices::positive) matrix[i * columns + i] += static_cast<double>(rows);
      if (kind == Matrices::triangular) matrix[i * columns + i] = 1.5 + next_fraction() / 2;
    }
    for (const auto& element : matrix)
      numbers.push_back(is_complex(dtype_) ? Scalar(element) : Scalar(element.real()));
  }
  copy_(laid, from_numbers(shape, dtype_, numbers));
  return laid;
}

}  // namespace bp
