// Moving values between tensors, devices and host memory, by the memory functions of the backends.
#pragma once

#include <backplane/tensor/scalar.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp {

// Where a tensor lies: on a device, in one of its memories (runtime/spaces.hpp), 0 being the main one.
struct MemoryPlace {
  Device device;
  std::uint32_t space = 0;
};
BP_API MemoryPlace place_of(const Tensor& tensor);

// The tensor in another place, without gaps; itself if it is in that place already. Throws bad_argument if the device has no such
// space, out_of_memory if that is full.
BP_API Tensor to_place(const Tensor& tensor, MemoryPlace place);
// The tensor on another device, contiguous and in main memory; itself if it is in that place already, in whichever memory.
BP_API Tensor to_device(const Tensor& tensor, Device device);
// The tensor in another of its device's memories, without gaps; itself if it is in that place already.
BP_API Tensor to_space(const Tensor& tensor, std::uint32_t space);

// Writes `source` over `target`, of the same shape and device; casts and follows any strides.
BP_API void copy_into(const Tensor& target, const Tensor& source);

// Writes the number over all elements of a small tensor in the host's memory, by hand where that is sooner done than a call.
// False: nothing was done, and the caller takes another way.
BP_API bool fill_small(const Tensor& target, const Scalar& value);

// A dense row-major tensor with the same values: itself if it is one, else a copy in main memory.
BP_API Tensor make_contiguous(const Tensor& tensor);

// Copies numel elements, row-major, between host memory and a tensor; done when it returns.
BP_API void copy_to_host_memory(const Tensor& tensor, void* target);
BP_API void copy_from_host_memory(const Tensor& tensor, const void* source);

// A 0-dim tensor of the number.
BP_API Tensor scalar_tensor(const Scalar& value, Dtype dtype, Device device);

}  // namespace bp
