// The extension bp.host_calls: a command queue waits for a user event, which a thread of ours completes when it has called the
// function. On the driver's threads, which events can call back, nothing may block.
#pragma once

#include <backplane/extensions/host_calls.h>

namespace opencl {

extern const bp_host_calls host_call_functions;

}  // namespace opencl
