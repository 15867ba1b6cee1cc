// The extension "reference.hooks": what a test needs to see late errors and exhaustion on purpose.
#pragma once

#include <backplane/plugin.hpp>

namespace reference {

const bp_header* hooks();

}  // namespace reference
