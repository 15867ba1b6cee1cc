// Brings plugins into this process for the subcommands that need devices.
#pragma once

#include "commands.hpp"

namespace bp::tools {

// Loads everything that can be found. What the person named must load: its error is thrown; errors of
// the rest are doctor's business.
void load_plugins(const Options& options);

// Only those that the person named.
void load_named_plugins(const Options& options);

}  // namespace bp::tools
