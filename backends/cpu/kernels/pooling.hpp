// What the kernels that pool have in common: windows over pictures, and where the elements of these are.
#pragma once

#include <algorithm>

#include "../host.hpp"
#include "../tensor_view.hpp"
#include "kernels.hpp"

namespace bp::cpu {

inline constexpr bp_dtype_set pool_dtypes = dtype_set({BP_F32, BP_F64});

// Windows over pictures; a line is a picture of one row.
struct PoolWindows {
  int64_t batch, channels;
  int64_t size[2], count[2], kernel[2], stride[2], padding[2], dilation[2];

  // The first and the one past the last place of the kernel that lie inside.
  struct Taps {
    int64_t begin, first, end;
  };
  Taps taps(int dim, int64_t window) const {
    const int64_t begin = window * stride[dim] - padding[dim];
    const int64_t first = begin < 0 ? steps(dim, -begin) : 0;
    const int64_t inside = size[dim] > begin ? steps(dim, size[dim] - begin) : 0;
    return {begin, first, std::min(kernel[dim], inside)};
  }

 private:
  // A division costs as much as a window, and mostly there is none.
  int64_t steps(int dim, int64_t length) const {
    const int64_t step = dilation[dim];
    return step == 1 ? length : (length + step - 1) / step;
  }
};

// Elements of a tensor by batch, channel, row and column.
template <class T> struct Pictures {
  T* data;
  int64_t batch, channel, row, column;

  explicit Pictures(const bp_tensor& tensor) : data(data_of<T>(tensor)) {
    const int64_t* const strides = tensor.dl.strides;
    batch = strides[0];
    channel = strides[1];
    row = tensor.dl.ndim == 4 ? strides[2] : 0;
    column = strides[tensor.dl.ndim - 1];
  }
  T* at(int64_t n, int64_t c, int64_t y, int64_t x) const {
    return data + n * batch + c * channel + y * row + x * column;
  }
};

inline int64_t listed(Ints list, int dim, int64_t rank) {
  return list[list.size() > 1 && rank == 2 ? static_cast<size_t>(dim) : 0];
}

// No `stride` is the kernel's size.
inline PoolWindows windows_of(const bp_tensor& large, const bp_tensor& small, Ints kernel_size,
                              Ints stride, Ints padding, Ints dilation) {
  PoolWindows w{
      large.dl.shape[0], large.dl.shape[1], {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {1, 1}};
  const int64_t rank = large.dl.ndim - 2;
  for (int dim = rank == 2 ? 0 : 1; dim < 2; ++dim) {
    const int64_t place = rank == 2 ? dim + 2 : 2;
    w.size[dim] = large.dl.shape[place];
    w.count[dim] = small.dl.shape[place];
    w.kernel[dim] = listed(kernel_size, dim, rank);
    w.stride[dim] = listed(stride.empty() ? kernel_size : stride, dim, rank);
    w.padding[dim] = listed(padding, dim, rank);
    if (!dilation.empty()) w.dilation[dim] = listed(dilation, dim, rank);
  }
  return w;
}

inline bool is_by_channels(const bp_tensor& a, const bp_tensor& b) {
  return a.dl.ndim == 4 && a.dl.strides[1] == 1 && b.dl.strides[1] == 1 && a.dl.shape[1] > 1;
}

// Volumes are left to the decomposition.
inline bool is_pooled_here(In a) {
  return a.ndim() <= 4 && a.numel() != 0;
}

}  // namespace bp::cpu
