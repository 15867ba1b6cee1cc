// What "anything" in a plugin's declaration means: anything of the plugin's own ABI level. A plugin built before a dtype
// or layout existed never gets such a tensor, unless it named the bit itself.
#pragma once

#include <cstdint>

#include <backplane/abi.h>

namespace bp {

// `declared` with its zeros spelled out for a plugin of `level`.
bp_arg bounded_by_level(bp_arg declared, std::uint32_t level);

}  // namespace bp
