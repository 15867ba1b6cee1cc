// The devices that calls fall back to and new tensors are made on. What finds and loads them is the room loading/, which
// defines these.
#pragma once

#include <backplane/runtime/device_registry.hpp>
#include <backplane/runtime/settings.hpp>

namespace bp {

namespace detail {
BP_API Device find_default_device();
}  // namespace detail

// The device of new tensors: the guard's, the process's, or the host's "cpu".
inline Device default_device() {
  const ThreadState& state = thread_state();
  const std::uint32_t usual = detail::usual_device.load(std::memory_order_acquire);
  if (usual && !state.has_default_device) [[likely]]
    return {usual};
  return detail::find_default_device();
}

// The host's device, on which fallbacks run; throws unsupported when no plugin offers "cpu".
BP_API Device host_device();
// The same, false instead of an error.
BP_API bool find_host_device(Device& out);

}  // namespace bp
