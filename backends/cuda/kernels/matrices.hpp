// What cuSOLVER's matrices need around it on the card: columns one behind the other and back, halves, signs, and NaN where
// a factorization failed. All kernels are launched on the call's stream.
#pragma once

#include <cstdint>

#include "kernels/on_card.hpp"
#include "kernels/strided.cuh"

namespace cuda_backend {

enum class Half { all, lower, upper };

// Copies `count` matrices between any strides, in elements; outside of the half zeros are written.
struct MatrixMove {
  const void* from;
  Strided from_batch;
  int64_t from_row, from_column;
  void* to;
  int64_t to_matrix, to_row, to_column;
  int64_t count, rows, columns;
  Half half;
  int32_t itemsize;  // 4 or 8
  const int* flags;  // null, or which matrices alone are copied: those where it is not 0
};
void move_matrices(const OnCard& card, const MatrixMove& move);

// Flags matrices of `size` elements, one behind the other, that have an element which is not finite, and makes zeros of them.
template <class T>
void take_out_not_finite(const OnCard& card, T* data, int64_t count, int64_t size, int* flags);
// NaN in each matrix of which either flag is not 0.
template <class T>
void spoil_failed(const OnCard& card, T* data, int64_t count, int64_t size, const int* flags,
                  const int* others);

// The largest component of each vector becomes positive, the first of equals; the vectors of `pair` turn with them.
template <class T> struct Vectors {
  T* data;
  int64_t matrix, vector, component, length;  // steps, and components
};
template <class T>
void unify_signs(const OnCard& card, const Vectors<T>& of, const Vectors<T>& pair, int64_t count,
                 int64_t num_vectors);

// Row-major factors of the given halves of matrices in `factors`, where `flags` says that the library found none: up to the
// first pivot that is not positive, and NaN from there on.
template <class T>
void factor_up_to_failure(const OnCard& card, T* factors, const int* flags, int64_t count,
                          int64_t n, bool upper);

void narrow_pivots(const OnCard& card, const int64_t* from, int32_t* to, int64_t count);

}  // namespace cuda_backend
