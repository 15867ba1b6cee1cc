// The memories of a device that is open: what they are, and the allocator of each.
#pragma once

#include "devices/device_state.hpp"
#include "memory/caching_allocator.hpp"

namespace bp {

// Asks the plugin what its memories are and makes an allocator for each; throws what it says. While the device is being
// opened, once main memory has its allocator.
void open_spaces(DeviceState& state);

// Throws bad_argument, naming `op` and the device's memories, if it has no such space.
CachingAllocator& allocator_of_space(const char* op, DeviceState& state, std::uint32_t space);

// Main memory's first.
template <class F> void for_each_allocator(DeviceState& state, F&& f) {
  if (state.allocator) f(*state.allocator);
  for (const auto& space : state.spaces) f(*space->allocator);
}

}  // namespace bp
