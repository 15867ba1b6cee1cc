// The npu's three memories: a large one, one of 256 KiB that most kernels compute in, and one that the host sees.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include <backplane/plugin.hpp>

namespace npu {

inline constexpr uint32_t hbm = 0, sram = 1, window = 2;
inline constexpr uint32_t num_spaces = 3;
inline constexpr uint64_t bytes_of_space[num_spaces] = {uint64_t{4} << 30, 256 << 10, 4 << 20};

// Set in handles of the first two memories: used as an address, one points to nothing.
inline constexpr uint64_t no_address = uint64_t{1} << 63;

inline void* pointer_of(uint64_t handle) {
  return reinterpret_cast<void*>(handle & ~no_address);
}

class Memories {
 public:
  bp::Result<bp::Handle> allocate(uint32_t space, uint64_t bytes, uint64_t alignment);
  void release(bp::Handle handle);
  uint64_t free_bytes(uint32_t space);
  // Which memory has the handle; num_spaces: none.
  uint32_t space_of(uint64_t handle);

 private:
  struct Block {
    uint32_t space;
    uint64_t bytes;
    void* memory;  // as such, for leak checkers: the handle is not an address
  };

  std::mutex mutex_;
  std::map<uint64_t, Block> blocks_;
  uint64_t used_[num_spaces] = {};
};

}  // namespace npu
