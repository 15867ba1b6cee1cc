// Checks that a plugin has filled in everything required, before any of its functions is called. Shared by libbackplane
// and backplane-probe; needs only the standard library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <backplane/abi.h>
#include <backplane/tensor/api.hpp>

namespace bp::loading {

// The ABI levels that this host supports.
inline constexpr uint32_t host_abi_min = 1;
inline constexpr uint32_t host_abi_max = BP_ABI_LEVEL;

// Asks for the plugin and checks what it returns: first its level, then its structs. Returns the plugin's
// code, BP_UNSUPPORTED for another level, BP_INTERNAL for a fault. Writes `plugin` only on success; otherwise shuts it
// down.
// `who` names it in messages. `said` returns the message that the plugin last passed to host->set_error, or "".
BP_API bp_code negotiate(bp_get_plugin_fn get_plugin, const bp_host& host, std::string_view who,
                         std::string_view (*said)(const bp_host& host), const bp_plugin** plugin,
                         std::string* message);

// Shuts down a plugin that is refused before any other call, so that it may serve another host.
BP_API void let_go(const bp_plugin* plugin);

// The first fault of the plugin that `get_plugin` returned at `level`, as one sentence, or "".
BP_API std::string find_fault(const bp_plugin* plugin, uint32_t level, std::string_view who);

// The same for kernels and operators, which are read after init.
BP_API std::string find_fault_in_tables(const bp_plugin& plugin);

// False for a plugin that only offers extensions: devices, open, close, memory and queue are all NULL.
BP_API bool has_devices(const bp_plugin& plugin);

}  // namespace bp::loading
