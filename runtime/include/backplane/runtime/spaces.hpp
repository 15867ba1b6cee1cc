// The memories of a device: an accelerator may have a small fast one beside its main one, or one that the host sees.
//
// Tensors are in main memory, space 0, unless another is requested: the application with empty_tensor_in() or
// to_space() (dispatcher/transfer.hpp), or a kernel that takes its operands from another one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/runtime/allocator.hpp>

namespace bp {

struct MemorySpace {
  std::uint32_t index = 0;
  std::string name;  // "hbm", "sram"; "device memory" if the plugin has one and no name for it
  std::uint64_t total_bytes = 0;  // 0: unknown
  std::uint64_t free_bytes = 0;   // now, as the plugin sees it; 0 with total_bytes 0: unknown
  bool is_host_visible = false;   // data_ptr() works
  bool is_fast = false;           // faster than space 0 for kernels
};

// By index, the main one first. Opens the device; throws bad_argument for meta, or what the plugin says.
BP_API std::vector<MemorySpace> memory_spaces(Device device);
// The index of the space of this name; throws bad_argument, listing the names, if there is none.
BP_API std::uint32_t find_memory_space(Device device, std::string_view name);

// Which of its device's memories a tensor is in.
inline std::uint32_t memory_space_of(const Tensor& tensor) {
  return tensor.impl()->abi.space;
}

// As empty_tensor and empty_strided_tensor, in `space`. Throws out_of_memory when that one is full, and bad_argument if the
// device has no such space.
BP_API Tensor empty_tensor_in(std::uint32_t space, IntList shape, Dtype dtype, Device device);
BP_API Tensor empty_strided_tensor_in(std::uint32_t space, IntList shape, IntList strides,
                                      Dtype dtype, Device device);

// As allocate_storage, in `space`.
BP_API Storage* allocate_storage_in(DeviceRecord& record, std::uint32_t space, std::uint64_t bytes);

}  // namespace bp
