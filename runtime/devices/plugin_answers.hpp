// What a plugin says of itself, its devices and its extensions, checked before anything believes it.
#pragma once

#include <string>
#include <vector>

#include <backplane/abi.h>
#include <backplane/runtime/extensions.hpp>

namespace bp {

inline constexpr std::uint32_t max_devices_of_plugin = 64;

// Throws internal, naming the field, unless the plugin can be used at all: its name, the required
// functions, and either all or none of the stream and event functions. loading/ checks
// more; this is what an application that registers a plugin itself gets.
void check_plugin(const bp_plugin& plugin);

// False for a plugin that offers extensions alone.
bool has_devices(const bp_plugin& plugin);

// Asks for the devices. Throws unsupported when there is none, internal for an absurd answer, and
// what the plugin said when it fails.
std::vector<bp_device_info> ask_for_devices(const bp_plugin& plugin);

// After bp_plugin.init. Throws internal for an answer that is not an extension, or that lacks a required function.
Extensions ask_for_extensions(const bp_plugin& plugin);

// The table as the plugin wrote it, with NULL where it is older than this header.
bp_memory complete_table(const bp_memory& table);
bp_queue complete_table(const bp_queue& table);

}  // namespace bp
