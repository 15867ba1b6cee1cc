#include "host_memory.hpp"

#include <cstdlib>
#include <cstring>

#include <backplane/plugin/host_memory.hpp>

#include "device.hpp"
#include "hooks.hpp"

namespace npu {

bp::Result<void*> HostMemory::allocate(uint64_t bytes, uint64_t alignment) {
  const std::lock_guard lock(mutex_);
  if (used_ + bytes > most)
    return bp::out_of_memory("%llu bytes of %llu can be pinned",
                             static_cast<unsigned long long>(most - used_),
                             static_cast<unsigned long long>(most));
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes) != 0) return bp::out_of_memory("no memory");
  pinned_[memory] = bytes;
  used_ += bytes;
  return memory;
}

void HostMemory::release(void* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = pinned_.find(memory);
  if (found == pinned_.end()) return;
  used_ -= found->second;
  pinned_.erase(found);
  std::free(memory);
}

bp::Status HostMemory::adopt(void* memory, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const char* const begin = static_cast<const char*>(memory);
  for (const auto& [other, length] : registered_) {
    const char* const its = static_cast<const char*>(other);
    if (begin < its + length && its < begin + bytes)
      return bp::bad_argument("of these %llu bytes some are registered already",
                              static_cast<unsigned long long>(bytes));
  }
  registered_[memory] = bytes;
  return bp::ok;
}

void HostMemory::forget(void* memory) {
  const std::lock_guard lock(mutex_);
  registered_.erase(memory);
}

uint64_t HostMemory::num_pinned() {
  const std::lock_guard lock(mutex_);
  return pinned_.size();
}
uint64_t HostMemory::num_registered() {
  const std::lock_guard lock(mutex_);
  return registered_.size();
}

namespace {

constexpr bp_host_memory host_memory_table = bp::host_memory_of<Npu>();

const Hooks hooks = {
    {sizeof(Hooks), BP_TYPE_EXTENSION, nullptr},
    [](bp_device* device) { return Npu::of(device).host_memory().num_pinned(); },
    [](bp_device* device) { return Npu::of(device).host_memory().num_registered(); },
};

}  // namespace

const bp_header* Npu::extension(const char* name, uint32_t min_version) {
  if (min_version > 1) return nullptr;
  if (std::strcmp(name, BP_HOST_MEMORY) == 0) return &host_memory_table.h;
  return std::strcmp(name, "npu.hooks") == 0 ? &hooks.h : nullptr;
}

}  // namespace npu
