// The extension "bp.host_calls": a function of the host's is work of a queue like any other.
#pragma once

#include <backplane/extensions/host_calls.h>

namespace reference {

extern const bp_host_calls host_call_functions;

}  // namespace reference
