#include <algorithm>

#include "constants.hpp"
#include "kernels/matrices.hpp"

namespace cuda_backend {
namespace {

constexpr int matrix_threads = constants::usual_threads;

unsigned blocks_of(int64_t count) {
  return static_cast<unsigned>(std::min<int64_t>((count + matrix_threads - 1) / matrix_threads,
                                                 constants::most_blocks_of_matrices));
}

template <class Word> __global__ void move_elements(MatrixMove m) {
  const int64_t size = m.rows * m.columns, all = m.count * size;
  for (int64_t i = blockIdx.x * int64_t{matrix_threads} + threadIdx.x; i < all;
       i += int64_t{gridDim.x} * matrix_threads) {
    const int64_t matrix = i / size, rest = i - matrix * size;
    if (m.flags != nullptr && m.flags[matrix] == 0) continue;
    // Neighbours write neighbours.
    const int64_t row = m.to_row == 1 ? rest % m.rows : rest / m.columns;
    const int64_t column = m.to_row == 1 ? rest / m.rows : rest % m.columns;
    const bool is_there =
        m.half == Half::all || (m.half == Half::upper ? column >= row : column <= row);
    Word word{};
    if (is_there)
      word = static_cast<const Word*>(
          m.from)[m.from_batch.offset(matrix) + row * m.from_row + column * m.from_column];
    static_cast<Word*>(m.to)[matrix * m.to_matrix + row * m.to_row + column * m.to_column] = word;
  }
}

// A block for each matrix.
template <class T> __global__ void take_out(T* data, int64_t size, int* flags) {
  T* const mine = data + blockIdx.x * size;
  int is_not_finite = 0;
  for (int64_t i = threadIdx.x; i < size; i += matrix_threads) is_not_finite |= !isfinite(mine[i]);
  is_not_finite = __syncthreads_or(is_not_finite);
  if (is_not_finite)
    for (int64_t i = threadIdx.x; i < size; i += matrix_threads) mine[i] = 0;
  if (threadIdx.x == 0) flags[blockIdx.x] = is_not_finite;
}

template <class T>
__global__ void spoil(T* data, int64_t size, const int* flags, const int* others) {
  if (flags[blockIdx.x] == 0 && others[blockIdx.x] == 0) return;
  for (int64_t i = threadIdx.x; i < size; i += matrix_threads)
    data[blockIdx.x * size + i] = static_cast<T>(NAN);
}

// A warp for each vector.
template <class T>
__global__ void turn_vectors(Vectors<T> of, Vectors<T> pair, int64_t num_vectors, int64_t all) {
  constexpr int lanes = 32, warps = matrix_threads / lanes;
  const int lane = threadIdx.x % lanes;
  for (int64_t i = blockIdx.x * int64_t{warps} + threadIdx.x / lanes; i < all;
       i += int64_t{gridDim.x} * warps) {
    const int64_t matrix = i / num_vectors, vector = i - matrix * num_vectors;
    T* const mine = of.data + matrix * of.matrix + vector * of.vector;
    T largest = 0;
    int64_t place = of.length;
    for (int64_t k = lane; k < of.length; k += lanes) {
      const T each = mine[k * of.component];
      if (fabs(each) > fabs(largest)) {
        largest = each;
        place = k;
      }
    }
    for (int step = lanes / 2; step > 0; step /= 2) {
      const T other = __shfl_xor_sync(~0u, largest, step);
      const int64_t other_place = __shfl_xor_sync(~0u, place, step);
      if (fabs(other) > fabs(largest) || (fabs(other) == fabs(largest) && other_place < place)) {
        largest = other;
        place = other_place;
      }
    }
    if (!(largest < 0)) continue;
    for (int64_t k = lane; k < of.length; k += lanes) mine[k * of.component] *= -1;
    if (pair.data == nullptr) continue;
    T* const others = pair.data + matrix * pair.matrix + vector * pair.vector;
    for (int64_t k = lane; k < pair.length; k += lanes) others[k * pair.component] *= -1;
  }
}

// A block for each matrix, column by column: seldom needed, and never fast.
template <class T>
__global__ void factor_slowly(T* factors, const int* flags, int64_t n, bool upper) {
  if (flags[blockIdx.x] == 0) return;
  T* const mine = factors + blockIdx.x * n * n;
  const auto at = [&](int64_t row, int64_t column) -> T& {
    return mine[upper ? column * n + row : row * n + column];
  };
  for (int64_t j = 0; j < n; ++j) {
    const T pivot = at(j, j);
    const T root = pivot > 0 ? sqrt(pivot) : static_cast<T>(NAN);
    __syncthreads();
    for (int64_t i = j + threadIdx.x; i < n; i += matrix_threads)
      at(i, j) = i == j ? root : at(i, j) / root;
    __syncthreads();
    const int64_t left = n - j - 1;
    for (int64_t k = threadIdx.x; k < left * left; k += matrix_threads) {
      const int64_t row = j + 1 + k / left, column = j + 1 + k % left;
      if (column <= row) at(row, column) -= at(row, j) * at(column, j);
    }
    __syncthreads();
  }
}

__global__ void narrow_elements(const int64_t* from, int32_t* to, int64_t count) {
  const int64_t i = blockIdx.x * int64_t{matrix_threads} + threadIdx.x;
  if (i < count) to[i] = static_cast<int32_t>(from[i]);
}

}  // namespace

void move_matrices(const OnCard& card, const MatrixMove& move) {
  const int64_t all = move.count * move.rows * move.columns;
  if (all == 0) return;
  if (move.itemsize == 8)
    move_elements<uint64_t><<<blocks_of(all), matrix_threads, 0, card.stream()>>>(move);
  else
    move_elements<uint32_t><<<blocks_of(all), matrix_threads, 0, card.stream()>>>(move);
}

template <class T>
void take_out_not_finite(const OnCard& card, T* data, int64_t count, int64_t size, int* flags) {
  take_out<<<static_cast<unsigned>(count), matrix_threads, 0, card.stream()>>>(data, size, flags);
}

template <class T>
void spoil_failed(const OnCard& card, T* data, int64_t count, int64_t size, const int* flags,
                  const int* others) {
  spoil<<<static_cast<unsigned>(count), matrix_threads, 0, card.stream()>>>(data, size, flags,
                                                                            others);
}

template <class T>
void unify_signs(const OnCard& card, const Vectors<T>& of, const Vectors<T>& pair, int64_t count,
                 int64_t num_vectors) {
  const int64_t all = count * num_vectors;
  turn_vectors<<<blocks_of(all * 32), matrix_threads, 0, card.stream()>>>(of, pair, num_vectors,
                                                                          all);
}

template <class T>
void factor_up_to_failure(const OnCard& card, T* factors, const int* flags, int64_t count,
                          int64_t n, bool upper) {
  factor_slowly<<<static_cast<unsigned>(count), matrix_threads, 0, card.stream()>>>(factors, flags,
                                                                                    n, upper);
}

void narrow_pivots(const OnCard& card, const int64_t* from, int32_t* to, int64_t count) {
  const auto blocks = static_cast<unsigned>((count + matrix_threads - 1) / matrix_threads);
  narrow_elements<<<blocks, matrix_threads, 0, card.stream()>>>(from, to, count);
}

#define BP_FOR_TYPE(T)                                                                     \
  template void take_out_not_finite(const OnCard&, T*, int64_t, int64_t, int*);            \
  template void spoil_failed(const OnCard&, T*, int64_t, int64_t, const int*, const int*); \
  template void unify_signs(const OnCard&, const Vectors<T>&, const Vectors<T>&, int64_t,  \
                            int64_t);                                                      \
  template void factor_up_to_failure(const OnCard&, T*, const int*, int64_t, int64_t, bool);
BP_FOR_TYPE(float)
BP_FOR_TYPE(double)
#undef BP_FOR_TYPE

}  // namespace cuda_backend
