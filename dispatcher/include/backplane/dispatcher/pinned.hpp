// Pinned (page-locked) host memory, which a device can copy to and from at full speed and without waiting. For devices
// whose plugin offers the extension bp.host_memory; for others, all host memory is alike.
#pragma once

#include <cstdint>

#include <backplane/tensor/tensor.hpp>

namespace bp {

// An uninitialized host tensor in pinned memory for `device`, or in ordinary memory if the device has none. The memory is
// freed with its last handle. Throws out_of_memory.
BP_API Tensor empty_pinned_tensor(IntList shape, Dtype dtype, Device device);

// The host tensor in pinned memory for `device`: itself if it is already there, or if the device has none; else a
// contiguous copy.
BP_API Tensor pin_memory(const Tensor& tensor, Device device);

// Whether the tensor is in memory that is pinned for the device, allocated there or registered.
BP_API bool is_pinned(const Tensor& tensor, Device device);

// Pins the application's own memory until it is unregistered. The application still owns it and must keep it until then;
// the device cannot be unloaded meanwhile. False if the device cannot do this: copies then work as before. Throws
// bad_argument if the memory overlaps memory that is already registered.
BP_API bool register_host_memory(void* memory, std::uint64_t bytes, Device device);
// All work on the memory must be done. Throws bad_argument if it is not registered.
BP_API void unregister_host_memory(void* memory, Device device);

}  // namespace bp
