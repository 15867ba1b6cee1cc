// The bp_host that a plugin gets: one for each plugin, alive until it has shut down.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include <backplane/runtime/device_registry.hpp>

namespace bp {

struct HostContext {
  bp_host host{};
  std::string plugin_path;
  std::string plugin_name;                 // for the log; its path until the plugin's name is known
  std::atomic<Backend*> backend{nullptr};  // once registered
};

// Fills in the table; `context` must not move afterwards. `plugin_path` is the file that contains the plugin.
void fill_host_table(HostContext& context, std::string plugin_path);

// The message that the plugin last passed to set_error on this thread.
std::string_view last_plugin_message(const bp_host& host);

inline constexpr std::uint32_t lowest_abi_level = 1;

}  // namespace bp
