// Operators that plugins bring, as the loader registers them.
#pragma once

#include <backplane/abi.h>

namespace bp {

// Adds the operators of a plugin, or finds them again when it is loaded again. Throws bad_argument for
// a declaration that cannot be used; forget_plugin_operators then takes back what was added.
void register_plugin_operators(const bp_plugin& plugin);

// The plugin is gone; calls of its operators say so until it, or another of its name that brings them
// too, is loaded.
void forget_plugin_operators(const bp_plugin& plugin);

}  // namespace bp
