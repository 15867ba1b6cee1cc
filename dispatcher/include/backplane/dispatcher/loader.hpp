// From a file to devices: the one place where plugins come into the process and leave it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <backplane/runtime/device_registry.hpp>
#include <backplane/runtime/settings.hpp>

namespace bp {

// Loads one plugin from a file, whatever the manifests say, and registers its backend. Throws with
// path and reason; the process is as before then. The same file twice gives the same backend.
BP_API Backend& load_plugin(const std::string& path);

// Unloads a backend: throws retry with what still lives on it (tensors, streams, events). The
// library may stay mapped when it holds threads.
BP_API void unload_plugin(Backend& backend);

// A device by name ("acme:0", "acme", "meta"); loads the plugin that offers it when needed. Throws
// bad_argument with the names that exist and why others could not be loaded.
BP_API Device device(std::string_view name);

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

// Loads everything that can be found; problems go to the log and to doctor.
BP_API void load_all_plugins();

}  // namespace bp
