#include "memory.hpp"

#include <cstdlib>

namespace npu {

bp::Result<bp::Handle> Memories::allocate(uint32_t space, uint64_t bytes, uint64_t alignment) {
  if (space >= num_spaces) return bp::bad_argument("there is no memory %u; 0 to 2 are", space);
  const uint64_t rounded = (bytes + alignment - 1) / alignment * alignment;
  const std::lock_guard lock(mutex_);
  const uint64_t left = bytes_of_space[space] - used_[space];
  void* const memory = rounded <= left ? std::aligned_alloc(alignment, rounded) : nullptr;
  if (memory == nullptr)
    return bp::out_of_memory("%llu bytes are left of %llu", static_cast<unsigned long long>(left),
                             static_cast<unsigned long long>(bytes_of_space[space]));
  const uint64_t handle = reinterpret_cast<uint64_t>(memory) | (space == window ? 0 : no_address);
  blocks_[handle] = {space, rounded, memory};
  used_[space] += rounded;
  return static_cast<bp::Handle>(handle);
}

void Memories::release(bp::Handle named) {
  const auto handle = static_cast<uint64_t>(named);
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(handle);
  if (found == blocks_.end()) return;
  used_[found->second.space] -= found->second.bytes;
  std::free(found->second.memory);
  blocks_.erase(found);
}

uint64_t Memories::free_bytes(uint32_t space) {
  const std::lock_guard lock(mutex_);
  return bytes_of_space[space] - used_[space];
}

uint32_t Memories::space_of(uint64_t handle) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(handle);
  return found == blocks_.end() ? num_spaces : found->second.space;
}

}  // namespace npu
