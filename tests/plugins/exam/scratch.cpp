#include "scratch.hpp"

#include <cstdlib>

#include "device.hpp"

namespace exam {

bp::Result<bp::Handle> Scratch::allocate(uint64_t bytes, uint64_t alignment) {
  const std::lock_guard lock(mutex_);
  const uint64_t left = total_bytes - used_;
  // Larger alignments than the system's least cost nothing of what is counted.
  void* memory = nullptr;
  if (bytes > left || posix_memalign(&memory, alignment < 64 ? 64 : alignment, bytes) != 0)
    return bp::out_of_memory("%llu bytes are left in the scratch memory",
                             static_cast<unsigned long long>(left));
  const bp::Handle handle = bp::handle_of(memory);
  blocks_[handle] = bytes;
  used_ += bytes;
  return handle;
}

bool Scratch::release(bp::Handle handle) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(handle);
  if (found == blocks_.end()) return false;
  used_ -= found->second;
  blocks_.erase(found);
  std::free(bp::address_of(handle));
  return true;
}

uint64_t Scratch::free_bytes() {
  const std::lock_guard lock(mutex_);
  return total_bytes - used_;
}

}  // namespace exam

namespace reference {

bp::Status Device::describe_space(uint32_t space, bp::SpaceInfo& info) {
  if (space > 1) return bp::bad_argument("there is no memory %u; 0 and 1 are", space);
  info.set_name(space == 0 ? "main" : "scratch");
  if (space == 0) return describe_main(info), bp::ok;
  info.flags = BP_SPACE_FAST | BP_SPACE_HOST_VISIBLE;
  info.total_bytes = exam::Scratch::total_bytes;
  info.free_bytes = scratch_.free_bytes();
  return bp::ok;
}

bp::Result<bp::Handle> Device::allocate_in(uint32_t space, uint64_t bytes, uint64_t alignment) {
  if (space != 1) return bp::bad_argument("there is no memory %u; 0 and 1 are", space);
  return scratch_.allocate(bytes, alignment);
}

}  // namespace reference
