// For backends that know faster host memory than the system's: the table of "bp.host_memory" from functions of the device.
// Not part of plugin.hpp: include it where it is needed.
#ifndef BACKPLANE_PLUGIN_HOST_MEMORY_HPP
#define BACKPLANE_PLUGIN_HOST_MEMORY_HPP

#include <backplane/extensions/host_memory.h>
#include <backplane/plugin/values.hpp>

namespace BP_SDK BP_HIDDEN {

// Device: static of(bp_device*) -> Device&; pin(uint64_t bytes, uint64_t alignment) -> Result<void*>; unpin(void*);
// adopt_host(void*, uint64_t bytes) -> Status; forget_host(void*). What they throw becomes a code.
template <class Device> constexpr bp_host_memory host_memory_of() {
  bp_host_memory table{};
  table.h = {sizeof table, BP_TYPE_EXTENSION, nullptr};
  table.allocate = [](bp_device* device, uint64_t bytes, uint64_t alignment, void** out) {
    return guarded([=]() -> Status {
      Result<void*> pinned = Device::of(device).pin(bytes, alignment);
      if (pinned.is_ok()) *out = pinned.value();
      return pinned.status();
    });
  };
  table.release = [](bp_device* device, void* memory) {
    (void)guarded([=]() -> Status { return Device::of(device).unpin(memory), ok; });
  };
  table.adopt = [](bp_device* device, void* memory, uint64_t bytes) {
    return guarded([=]() -> Status { return Device::of(device).adopt_host(memory, bytes); });
  };
  table.forget = [](bp_device* device, void* memory) {
    (void)guarded([=]() -> Status { return Device::of(device).forget_host(memory), ok; });
  };
  return table;
}

}  // namespace BP_HIDDEN

#endif  // BACKPLANE_PLUGIN_HOST_MEMORY_HPP
