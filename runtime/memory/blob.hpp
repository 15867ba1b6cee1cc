// Tensors over memory of the application.
#pragma once

#include <backplane/runtime/interop.hpp>

namespace bp {

// What tensor_from_memory does, under the name `op`.
Tensor tensor_over(const char* op, DeviceRecord& record, const NativeHandle& memory,
                   std::uint64_t byte_offset, IntList shape, IntList strides, Dtype dtype,
                   void (*deleter)(void* context), void* context);

}  // namespace bp
