// Asks a plugin for its extensions.
#pragma once

#include <backplane/runtime/extensions.hpp>

namespace bp {

// After bp_plugin.init. Throws internal for an answer that is not an extension, or that lacks a required function.
Extensions ask_for_extensions(const bp_plugin& plugin);

}  // namespace bp
