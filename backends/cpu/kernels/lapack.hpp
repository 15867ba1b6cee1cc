// Batches of matrices for LAPACK, which needs columns to lie in memory one behind the other: a row-major matrix is its
// transpose there.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include <backplane/plugin.hpp>

#include "../constants.hpp"
#include "../tensor_view.hpp"
#include "../threads.hpp"
#include "lapack_library.hpp"

namespace bp::cpu::lapack {

// Indices are 32 bits wide, and those of work areas reach to a few times the square.
constexpr int64_t largest_size = 16000;

inline int64_t size_from_end(const bp_tensor& tensor, int place) {
  return tensor.dl.shape[tensor.dl.ndim - place];
}
inline int64_t rows_of(const bp_tensor& tensor) {
  return size_from_end(tensor, 2);
}
inline int64_t columns_of(const bp_tensor& tensor) {
  return size_from_end(tensor, 1);
}

inline bool fits(const bp_tensor& tensor) {
  return tensor.numel > 0 && rows_of(tensor) <= largest_size && columns_of(tensor) <= largest_size;
}

// Of many tiny matrices the host's operators do all at once what LAPACK does one by one, and are faster; not of complex ones.
inline bool is_worth_calls(const bp_tensor& tensor, int64_t tiny = constants::tiny_matrix,
                           int64_t many = constants::many_matrices) {
  if (!fits(tensor) || !is_there()) return false;
  if (complex_dtypes >> tensor.dtype & 1u) return true;
  const int64_t size = rows_of(tensor) * columns_of(tensor);
  return size > tiny * tiny || tensor.numel < many * size;
}

// Where the matrices of a tensor begin, which broadcasts over the batch of the result; vectors are matrices of one column.
class Batch {
 public:
  Batch(const bp_tensor& tensor, std::span<const int64_t> batch, bool is_vector = false)
      : batch_(batch) {
    const int32_t matrix = is_vector ? 1 : 2, own = tensor.dl.ndim - matrix;
    rows = tensor.dl.shape[own];
    row_step = tensor.dl.strides[own];
    columns = is_vector ? 1 : tensor.dl.shape[own + 1];
    column_step = is_vector ? 1 : tensor.dl.strides[own + 1];
    for (int32_t i = 0; i < own; ++i) {
      const size_t place = batch.size() - static_cast<size_t>(own - i);
      steps_[place] = tensor.dl.shape[i] == 1 ? 0 : tensor.dl.strides[i];
    }
  }

  int64_t offset(int64_t index) const {
    int64_t offset = 0;
    for (size_t dim = batch_.size(); dim-- > 0; index /= batch_[dim])
      offset += index % batch_[dim] * steps_[dim];
    return offset;
  }

  int64_t rows = 0, columns = 0, row_step = 0, column_step = 0;

 private:
  std::span<const int64_t> batch_;
  std::array<int64_t, BP_MAX_RANK> steps_{};
};

// All sizes but the last `matrix` ones.
inline std::span<const int64_t> batch_of(const bp_tensor& tensor, int32_t matrix = 2) {
  return {tensor.dl.shape, static_cast<size_t>(tensor.dl.ndim - matrix)};
}
inline int64_t count_of(std::span<const int64_t> batch) {
  int64_t count = 1;
  for (const int64_t size : batch) count *= size;
  return count;
}

// In squares that stay in the cache while both sides are walked.
template <class T>
void copy_matrix(int64_t rows, int64_t columns, const T* from, int64_t from_row,
                 int64_t from_column, T* to, int64_t to_row, int64_t to_column) {
  constexpr int64_t tile = constants::turned_matrix_tile;
  for (int64_t row = 0; row < rows; row += tile)
    for (int64_t column = 0; column < columns; column += tile)
      for (int64_t i = row; i < std::min(rows, row + tile); ++i)
        for (int64_t j = column; j < std::min(columns, column + tile); ++j)
          to[i * to_row + j * to_column] = from[i * from_row + j * from_column];
}

// Row-major, and with columns one behind the other.
template <class T> void load_rows(const Batch& of, const T* from, T* to) {
  copy_matrix(of.rows, of.columns, from, of.row_step, of.column_step, to, of.columns, int64_t{1});
}
template <class T> void load_columns(const Batch& of, const T* from, T* to) {
  copy_matrix(of.rows, of.columns, from, of.row_step, of.column_step, to, int64_t{1}, of.rows);
}
// A row-major result of columns.
template <class T> void store_columns(int64_t rows, int64_t columns, const T* from, T* to) {
  copy_matrix(rows, columns, from, int64_t{1}, rows, to, columns, int64_t{1});
}

// Row-major elements of the lower half, or the upper one; zeros elsewhere.
template <class T> void load_half(const Batch& of, const T* from, T* to, bool upper) {
  const int64_t n = of.rows;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      to[i * n + j] = (upper ? j >= i : j <= i) ? from[i * of.row_step + j * of.column_step] : T(0);
}

template <class T> T conjugated(T value) {
  if constexpr (is_complex<T>) value.imag(-value.imag());
  return value;
}

// Of a symmetric or Hermitian matrix of which `from` has this half: the half `as_upper`, and zeros; no imaginary parts on the
// diagonal.
template <class T>
void load_hermitian(const Batch& of, const T* from, T* to, bool upper, bool as_upper) {
  load_half(of, from, to, upper);
  for (int64_t i = 0; upper != as_upper && i < of.rows; ++i)
    for (int64_t j = i + 1; j < of.rows; ++j) {
      T &above = to[i * of.rows + j], &below = to[j * of.rows + i];
      above = std::exchange(below, conjugated(above));
      above = conjugated(above);
    }
  if constexpr (is_complex<T>)
    for (int64_t i = 0; i < of.rows; ++i) to[i * (of.rows + 1)] = to[i * (of.rows + 1)].real();
}

// Of complex numbers, their parts: twice as many.
template <class T> const Real<T>* parts_of(const T* values) {
  return reinterpret_cast<const Real<T>*>(values);
}
template <class T> Real<T>* parts_of(T* values) {
  return reinterpret_cast<Real<T>*>(values);
}
template <class T> constexpr int64_t num_parts = is_complex<T> ? 2 : 1;

template <class T> bool all_finite(const T* values, int64_t count) {
  Real<T> sum = 0;
  for (int64_t i = 0; i < count * num_parts<T>; ++i) sum += parts_of(values)[i] * 0;
  return sum == 0;
}

template <class T> void fill_nan(T* values, int64_t count) {
  std::fill_n(parts_of(values), count * num_parts<T>, std::numeric_limits<Real<T>>::quiet_NaN());
}

// `step`: how far apart the elements of a row may lie in it. Products of complex matrices with a vector read, in OpenBLAS 0.3.21 for
// Zen and Haswell, one element more than a row has, which must not lie outside of memory.
template <class T> std::unique_ptr<T[]> scratch(int64_t count, int64_t step = 1) {
  return std::make_unique_for_overwrite<T[]>(
      static_cast<size_t>(std::max<int64_t>(count, 1) + step));
}

// Lets LAPACK use threads, of which one call at a time does: two such calls would wait for each other's inside.
std::unique_lock<std::mutex> try_to_use_threads();

// Calls body(begin, end) for ranges of matrices, on several threads if there are many. Only on machines with cores to spare is
// a large one worth threads of its own. `work`: multiplications for one matrix.
template <class F> void for_matrices(int64_t count, double work, F&& body) {
  const int most = num_threads();
  if (work >= constants::lapack_work && most >= constants::lapack_cores && count < most) {
    const std::unique_lock lock = try_to_use_threads();
    const ThreadLimit threads(lock ? max_threads : 1);
    leave_cores_to_openmp();
    return body(int64_t{0}, count);
  }
  const ThreadLimit one(1);
  const auto grain =
      static_cast<int64_t>(std::max(1.0, constants::lapack_thread_work / (work + 100)));
  parallel_for(count, grain, body);
}

// The first of the complex numbers that are as large as the largest, within a thousandth; -1 if there is none but NaN. Of
// components of vectors, whose squares stay within the range.
template <class R>
int64_t first_of_largest(int64_t count, const std::complex<R>* values, int64_t step) {
  R largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::norm(values[i * step]));
  for (int64_t i = 0; i < count; ++i)
    if (std::norm(values[i * step]) >= R(0.998001) * largest) return i;
  return -1;
}

template <class T> void scale_column(int64_t count, T* values, int64_t step, T factor) {
  for (int64_t i = 0; i < count; ++i) {
    T& each = values[i * step];
    if constexpr (is_complex<T>)  // by parts: the operator would ask for NaN
      each = T(each.real() * factor.real() - each.imag() * factor.imag(),
               each.real() * factor.imag() + each.imag() * factor.real());
    else
      each *= factor;
  }
}

// The largest component of each column becomes real and positive: of real numbers the first of equals. `turn(j, factor)` is
// called for what belongs to a column that was multiplied.
template <class T, class F>
void unify_phases(int64_t rows, int64_t columns, T* vectors, int64_t row_step, int64_t column_step,
                  F&& turn) {
  for (int64_t j = 0; j < columns; ++j) {
    T* const column = vectors + j * column_step;
    if constexpr (is_complex<T>) {
      const int64_t chosen = first_of_largest(rows, column, row_step);
      if (chosen < 0) continue;
      T& largest = column[chosen * row_step];
      const Real<T> size = std::abs(largest);
      if (size == 0 || largest == size) continue;
      const T factor = std::conj(largest) / size;
      scale_column(rows, column, row_step, factor);
      largest = size;
      turn(j, factor);
    } else {
      T largest = 0;
      for (int64_t i = 0; i < rows; ++i) {
        const T each = column[i * row_step];
        if (std::fabs(each) > std::fabs(largest)) largest = each;
      }
      if (!(largest < 0)) continue;
      scale_column(rows, column, row_step, T(-1));
      turn(j, T(-1));
    }
  }
}
template <class T>
void unify_phases(int64_t rows, int64_t columns, T* vectors, int64_t row_step,
                  int64_t column_step) {
  unify_phases(rows, columns, vectors, row_step, column_step, [](int64_t, T) {});
}

constexpr DtypeSet matrix_dtypes = DtypeSet(f32) | f64 | complex64 | complex128;

// Calls f(Tag<T>) with the type of one of these numbers.
template <class F> Status with_type(const bp_tensor& tensor, F&& f) {
  visit_dtype<matrix_dtypes.bits>(tensor.dtype, f);
  return ok;
}

}  // namespace bp::cpu::lapack
