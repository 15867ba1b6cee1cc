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
  std::string plugin_name;  // for the log; the path until the plugin has told its name
  std::atomic<Backend*> backend{nullptr};  // once registered
};

// Fills in the table; `context` does not move afterwards. `plugin_path`: the file that holds the plugin.
void fill_host_table(HostContext& context, std::string plugin_path);

// What the plugin told set_error last on this thread.
std::string_view last_plugin_message(const bp_host& host);

inline constexpr std::uint32_t lowest_abi_level = 1;

}  // namespace bp
