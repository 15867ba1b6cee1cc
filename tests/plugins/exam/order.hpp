// The extensions bp.host_calls and bp.semaphores, of the device that works in the background.
#pragma once

#include <backplane/abi.h>

namespace exam {

// Null if it is none of these, or the device is synchronous.
const bp_header* order_extension(const char* name, uint32_t min_version);

}  // namespace exam
