// Operators of plugins, as the loader registers them.
#pragma once

#include <backplane/abi.h>

namespace bp {

// Adds the operators of a plugin, or finds them again when it is loaded again. Throws bad_argument if a
// declaration cannot be used; forget_plugin_operators then removes what was added.
void register_plugin_operators(const bp_plugin& plugin);

// Called when the plugin is gone. Calls of its operators then fail with that message, until it, or another plugin
// of its name that has them too, is loaded.
void forget_plugin_operators(const bp_plugin& plugin);

}  // namespace bp
