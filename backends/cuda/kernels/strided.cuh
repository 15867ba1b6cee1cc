// Tensors of any strides in kernels: shapes by value, and the offset of the element at a place in logical order.
#pragma once

#include <cstdint>

#include <backplane/plugin.hpp>

namespace cuda_backend {

// Sizes and strides in elements, dimensions of size 1 left out and neighbours joined where memory allows.
struct Strided {
  int32_t rank = 0;
  int64_t size[BP_MAX_RANK];
  int64_t stride[BP_MAX_RANK];

  __device__ int64_t offset(int64_t place) const {
    int64_t at = 0;
    for (int32_t dim = rank - 1; dim > 0; --dim) {
      const int64_t rest = place / size[dim];
      at += (place - rest * size[dim]) * stride[dim];
      place = rest;
    }
    return rank > 0 ? at + place * stride[0] : at;
  }
};

// The dimensions of `tensor`, one left out if `without` names it.
inline Strided strided_of(const bp::AnyTensor& tensor, int64_t without = -1) {
  Strided made;
  for (int32_t dim = 0; dim < tensor.ndim(); ++dim) {
    const int64_t size = tensor.size(dim), stride = tensor.stride(dim);
    if (dim == without || size == 1) continue;
    const int32_t last = made.rank - 1;
    if (last >= 0 && made.stride[last] == stride * size) {
      made.size[last] *= size;
      made.stride[last] = stride;
      continue;
    }
    made.size[made.rank] = size;
    made.stride[made.rank++] = stride;
  }
  return made;
}

}  // namespace cuda_backend
