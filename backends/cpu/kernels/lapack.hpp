// Batches of matrices for LAPACK, which wants columns to lie in memory one behind the other: a row-major matrix is its
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

// Of many tiny matrices the host's operators do all at once what LAPACK does one by one, and are faster.
inline bool is_worth_calls(const bp_tensor& tensor, int64_t tiny = 2, int64_t many = 256) {
  if (!fits(tensor) || !is_there()) return false;
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
  constexpr int64_t tile = 16;
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

template <class T> bool all_finite(const T* values, int64_t count) {
  T sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += values[i] * 0;
  return sum == 0;
}

template <class T> void fill_nan(T* values, int64_t count) {
  std::fill_n(values, count, T(std::numeric_limits<double>::quiet_NaN()));
}

template <class T> std::unique_ptr<T[]> scratch(int64_t count) {
  return std::make_unique_for_overwrite<T[]>(static_cast<size_t>(std::max<int64_t>(count, 1)));
}

// Lets LAPACK use threads, of which one call at a time does: two such calls would wait for each other's inside.
std::unique_lock<std::mutex> try_to_use_threads();

// Calls body(begin, end) for ranges of matrices, on several threads if there are many. Only on machines with cores to spare is
// a large one worth threads of its own, which wait for each other in loops: on two busy cores LU of 1,000 rows took 4.5 s
// by two threads, and 0.06 s by one. `work`: multiplications for one matrix.
template <class F> void for_matrices(int64_t count, double work, F&& body) {
  constexpr double worth_threads = 2e8, worth_a_thread = 1e5;
  constexpr int cores_to_spare = 4;
  const int most = num_threads();
  if (work >= worth_threads && most >= cores_to_spare && count < most) {
    const std::unique_lock lock = try_to_use_threads();
    const ThreadLimit threads(lock ? max_threads : 1);
    return body(int64_t{0}, count);
  }
  const ThreadLimit one(1);
  const auto grain = static_cast<int64_t>(std::max(1.0, worth_a_thread / (work + 100)));
  parallel_for(count, grain, body);
}

// The largest component of each column becomes positive, the first of equals: `flip(j)` is called for those where it is not.
template <class T, class F>
void unify_signs(int64_t rows, int64_t columns, const T* vectors, int64_t row_step,
                 int64_t column_step, F&& flip) {
  for (int64_t j = 0; j < columns; ++j) {
    T largest = 0;
    for (int64_t i = 0; i < rows; ++i) {
      const T each = vectors[i * row_step + j * column_step];
      if (std::fabs(each) > std::fabs(largest)) largest = each;
    }
    if (largest < 0) flip(j);
  }
}

// Calls f(Tag<T>) with float or double.
template <class F> Status with_type(const bp_tensor& tensor, F&& f) {
  tensor.dtype == BP_F64 ? f(Tag<double>{}) : f(Tag<float>{});
  return ok;
}

}  // namespace bp::cpu::lapack
