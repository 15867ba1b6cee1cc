// A tensor as a kernel walks it after the call has returned: a copy of shape and strides, and where element 0
// lies. Also how work gets to its queue.
#pragma once

#include <array>
#include <cstring>

#include "device.hpp"
#include "element.hpp"

namespace reference {

struct TensorView {
  // Throws bp::Failure, which ends at the plugin's edge, if the tensor does not lie within an allocation.
  TensorView(bp::Stream stream, bp::AnyTensor tensor)
      : dtype(tensor.dtype()), itemsize(tensor.itemsize()), rank(tensor.ndim()),
        numel(tensor.numel()), is_contiguous(tensor.is(bp::contiguous)) {
    shape.fill(1);
    uint64_t bytes = itemsize;
    for (int32_t dim = 0; dim < rank; ++dim) {
      shape[dim] = tensor.size(dim);
      steps[dim] = tensor.stride(dim) * itemsize;
      bytes += static_cast<uint64_t>((shape[dim] - 1) * steps[dim]);
    }
    if (numel == 0) return;
    bp::Result<uint8_t*> found = stream.device<Device>().bytes_of(
        bp::Region{{tensor.handle(), tensor.byte_offset(), bytes}}, "a kernel");
    if (!found.is_ok()) throw bp::Failure{found.status()};
    data = found.value();
  }

  // From element 0, in bytes, to the element at this place in row-major order.
  int64_t offset(int64_t place) const {
    if (is_contiguous) return place * itemsize;
    int64_t bytes = 0;
    for (int32_t dim = rank - 1; dim >= 0; --dim) {
      bytes += place % shape[dim] * steps[dim];
      place /= shape[dim];
    }
    return bytes;
  }
  uint8_t* at(int64_t place) const { return data + offset(place); }

  template <class T> T get(int64_t place) const { return read<T>(at(place), dtype); }
  template <class T> void set(int64_t place, T value) const { write<T>(at(place), dtype, value); }

  // The dimensions whose bits are set, at the first element of all others.
  TensorView only(uint32_t dims) const {
    TensorView part = *this;
    part.rank = 0;
    part.numel = 1;
    part.is_contiguous = false;
    for (int32_t dim = 0; dim < rank; ++dim) {
      if (((dims >> dim) & 1u) == 0) continue;
      part.shape[part.rank] = shape[dim];
      part.steps[part.rank++] = steps[dim];
      part.numel *= shape[dim];
    }
    return part;
  }

  // The same memory walked in another's shape, standing still along `dim` (-1: along none).
  TensorView walked_as(const TensorView& other, int64_t dim = -1) const {
    TensorView walk = *this;
    walk.rank = other.rank;
    walk.shape = other.shape;
    walk.numel = other.numel;
    walk.is_contiguous = false;
    if (dim >= 0) walk.steps[static_cast<size_t>(dim)] = 0;
    return walk;
  }

  uint8_t* data = nullptr;
  bp::Dtype dtype;
  int64_t itemsize;
  int32_t rank;
  int64_t numel;
  bool is_contiguous;
  std::array<int64_t, BP_MAX_RANK> shape, steps{};  // steps in bytes; shape is 1 beyond the rank
};

// An element between two places of the device, whose bytes are masked alike.
inline void move(uint8_t* to, const uint8_t* from, int64_t itemsize) {
  std::memcpy(to, from, static_cast<size_t>(itemsize));
}

// Gives `body`, a function without a result, to the call's queue. What it needs of the call it must own: the
// call's structs are gone when it runs.
template <class Body> bp::Status submit(bp::Stream stream, Body body) {
  const auto work = [body]() mutable -> Outcome {
    try {
      body();
      return {};
    } catch (...) {
      return {BP_OUT_OF_MEMORY, "a kernel found no host memory"};
    }
  };
  return stream.device<Device>().submit(stream.native<Queue>(), work, stream.call_number());
}

}  // namespace reference
