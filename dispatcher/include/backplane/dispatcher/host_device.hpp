// The device that calls fall back to, and the device on which new tensors are created. loading/, which finds and loads
// them, defines these functions.
#pragma once

#include <backplane/runtime/device_registry.hpp>
#include <backplane/runtime/settings.hpp>

namespace bp {

namespace detail {
BP_API Device find_default_device();
}  // namespace detail

// The device for new tensors: that of the innermost guard, else the process's default, else the host's "cpu".
inline Device default_device() {
  const ThreadState& state = thread_state();
  const std::uint32_t usual = detail::usual_device.load(std::memory_order_acquire);
  if (usual && !state.has_default_device) [[likely]]
    return {usual};
  return detail::find_default_device();
}

// The host's device, on which fallbacks run; throws unsupported if no plugin offers "cpu".
BP_API Device host_device();
// The same, but returns false instead of throwing.
BP_API bool find_host_device(Device& out);

}  // namespace bp
