// Pinned (page-locked) host memory, which a device copies from and to at full speed and without waiting. For devices
// whose plugin offers the extension bp.host_memory; for others, all host memory is alike.
#pragma once

#include <cstdint>

#include <backplane/tensor/tensor.hpp>

namespace bp {

// A tensor of the host, without values, in such memory of `device`; in ordinary memory if the device has none. Its memory
// goes back to the device with its last handle. Throws out_of_memory.
BP_API Tensor empty_pinned_tensor(IntList shape, Dtype dtype, Device device);

// A tensor of the host in such memory of `device`: itself if it is there, or if the device has none; else a contiguous copy.
BP_API Tensor pin_memory(const Tensor& tensor, Device device);

// Is the tensor in such memory of the device, made there or registered?
BP_API bool is_pinned(const Tensor& tensor, Device device);

// Makes the application's own memory as fast, until it is unregistered; it stays the application's, which keeps it until
// then, and the device cannot be unloaded meanwhile. False if the device cannot: copies work then as before. Throws
// bad_argument for memory that overlaps what is registered already.
BP_API bool register_host_memory(void* memory, std::uint64_t bytes, Device device);
// All work on it must be done. Throws bad_argument for memory that is not registered.
BP_API void unregister_host_memory(void* memory, Device device);

}  // namespace bp
