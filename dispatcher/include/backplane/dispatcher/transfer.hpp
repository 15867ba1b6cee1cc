// Moves values between tensors, devices and host memory, with the backends' memory functions.
#pragma once

#include <backplane/tensor/scalar.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp {

// Where a tensor is: on a device, in one of its memories (runtime/spaces.hpp); 0 is the main one.
struct MemoryPlace {
  Device device;
  std::uint32_t space = 0;
};
BP_API MemoryPlace place_of(const Tensor& tensor);

// The tensor in another place, dense; itself if it is already there. Throws bad_argument if the device has no such
// space, out_of_memory if it is full.
BP_API Tensor to_place(const Tensor& tensor, MemoryPlace place);
// The tensor on another device, contiguous and in main memory; itself if it is already on that device, in any memory.
BP_API Tensor to_device(const Tensor& tensor, Device device);
// The tensor in another of its device's memories, dense; itself if it is already there.
BP_API Tensor to_space(const Tensor& tensor, std::uint32_t space);

// Writes `source` into `target`, which has the same shape and device; casts, and handles any strides.
BP_API void copy_into(const Tensor& target, const Tensor& source);

// Sets all elements of a small tensor in host memory directly, if that is faster than a call.
// False: nothing was done, and the caller must do it in another way.
BP_API bool fill_small(const Tensor& target, const Scalar& value);

// A contiguous tensor with the same values: itself if it is contiguous, else a copy in main memory.
BP_API Tensor make_contiguous(const Tensor& tensor);

// Copy numel elements, row-major, between host memory and a tensor; the copy is done when they return.
BP_API void copy_to_host_memory(const Tensor& tensor, void* target);
BP_API void copy_from_host_memory(const Tensor& tensor, const void* source);

// A 0-dim tensor with this value.
BP_API Tensor scalar_tensor(const Scalar& value, Dtype dtype, Device device);

}  // namespace bp
