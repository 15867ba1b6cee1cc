// Moving elements between tensors by their strides, for kernels that do nothing to the bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "../constants.hpp"
#include "../memory.hpp"
#include "../tensor_view.hpp"
#include "../threads.hpp"
#include "tile/transpose.hpp"

namespace bp::cpu {

// Elements that one thread must at least have.
using constants::element_grain;

// An element of any dtype of 16 bytes; the standard's types stop at 8.
struct Bytes16 {
  uint64_t low, high;
};

// Calls f(Tag<T>) with an integer type of `itemsize` bytes.
template <class F> void visit_itemsize(uint32_t itemsize, F&& f) {
  switch (itemsize) {
    case 1: return f(Tag<uint8_t>{});
    case 2: return f(Tag<uint16_t>{});
    case 4: return f(Tag<uint32_t>{});
    case 8: return f(Tag<uint64_t>{});
    default: return f(Tag<Bytes16>{});
  }
}

// Row-major strides of `shape`, in elements.
inline std::array<int64_t, BP_MAX_RANK> contiguous_strides(std::span<const int64_t> shape) {
  std::array<int64_t, BP_MAX_RANK> strides{};
  int64_t next = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    strides[dim] = next;
    next *= shape[dim];
  }
  return strides;
}

inline int64_t product(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

// Matrices, the last two dimensions of `shape`, whose columns become rows.
template <class T>
void copy_turned_matrices(std::span<const int64_t> shape, T* to, const int64_t* to_strides,
                          const T* from, const int64_t* from_strides) {
  constexpr int64_t together = 32;  // rows
  const size_t outer = shape.size() - 2;
  const int64_t rows = shape[outer], columns = shape[outer + 1];
  const int64_t pieces = (rows + together - 1) / together;
  const int64_t piece_bytes = together * columns * static_cast<int64_t>(sizeof(T));
  const int64_t grain = std::max<int64_t>(1, constants::strided_copy_bytes / piece_bytes);
  parallel_for(product(shape.first(outer)) * pieces, grain, [&](int64_t begin, int64_t end) {
    Walker<2> matrix(shape.first(outer), {to_strides, from_strides});
    matrix.seek(begin / pieces);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * together;
      T* const target = to + matrix.offset(0) + first * to_strides[outer];
      const T* const source = from + matrix.offset(1) + first;
      tile::transpose({reinterpret_cast<char*>(target), reinterpret_cast<const char*>(source),
                       to_strides[outer], from_strides[outer + 1], std::min(together, rows - first),
                       columns, sizeof(T), false});
      if (first + together >= rows) matrix.next();
    }
  });
}

// Copies a block of `shape` from one set of strides to another, row by row, or where the source lies by columns in squares.
template <class T>
void copy_strided(std::span<const int64_t> shape, T* to, const int64_t* to_strides, const T* from,
                  const int64_t* from_strides) {
  const size_t outer = shape.empty() ? 0 : shape.size() - 1;
  const int64_t inner = shape.empty() ? 1 : shape[outer];
  const int64_t rows = product(shape.first(outer));
  if (inner == 0) return;
  const int64_t to_step = shape.empty() ? 1 : to_strides[outer];
  const int64_t from_step = shape.empty() ? 1 : from_strides[outer];
  if (outer > 0 && to_step == 1 && from_step != 1 && from_strides[outer - 1] == 1 &&
      std::min(inner, shape[outer - 1]) >= constants::turned_side)
    return copy_turned_matrices(shape, to, to_strides, from, from_strides);
  parallel_for(rows, std::max<int64_t>(1, element_grain / inner), [&](int64_t begin, int64_t end) {
    Walker<2> row(shape.first(outer), {to_strides, from_strides});
    row.seek(begin);
    for (int64_t i = begin; i < end; ++i, row.next()) {
      T* const target = to + row.offset(0);
      const T* const source = from + row.offset(1);
      if (to_step == 1 && from_step == 1) {
        std::memcpy(target, source, inner * sizeof(T));
      } else {
        for (int64_t j = 0; j < inner; ++j) target[j * to_step] = source[j * from_step];
      }
    }
  });
}

// Copies all elements of `from` into the row-major `to`, of the same dtype and shape.
inline void copy_contiguous(const bp_tensor& to, const bp_tensor& from) {
  if (is_contiguous(from)) {
    copy_bytes(address(to), address(from), static_cast<uint64_t>(from.numel) * from.itemsize);
    return;
  }
  visit_itemsize(from.itemsize, [&]<class T>(Tag<T>) {
    copy_strided(shape_of(from), data_of<T>(to), contiguous_strides(shape_of(from)).data(),
                 data_of<T>(from), from.dl.strides);
  });
}

}  // namespace bp::cpu
