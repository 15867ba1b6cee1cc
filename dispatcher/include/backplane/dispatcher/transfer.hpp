// Moving values between tensors, devices and host memory, by the memory functions of the backends.
#pragma once

#include <backplane/tensor/scalar.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp {

// The tensor on another device, contiguous; itself if it is there already.
BP_API Tensor to_device(const Tensor& tensor, Device device);

// Writes `source` over `target`, of the same shape and device; casts and follows any strides.
BP_API void copy_into(const Tensor& target, const Tensor& source);

// A dense row-major tensor with the same values: itself if it is one.
BP_API Tensor make_contiguous(const Tensor& tensor);

// Copies numel elements, row-major, between host memory and a tensor; done when it returns.
BP_API void copy_to_host_memory(const Tensor& tensor, void* target);
BP_API void copy_from_host_memory(const Tensor& tensor, const void* source);

// A 0-dim tensor of the number.
BP_API Tensor scalar_tensor(const Scalar& value, Dtype dtype, Device device);

}  // namespace bp
