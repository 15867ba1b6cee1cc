// The extension bp.host_calls: a command list waits for an event, which a thread of ours signals when it has called the
// function.
#pragma once

#include <backplane/extensions/host_calls.h>

namespace level_zero {

extern const bp_host_calls host_call_functions;

}  // namespace level_zero
