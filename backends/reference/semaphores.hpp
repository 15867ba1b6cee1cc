// The extension "bp.semaphores": numbers in memory of the host's, which processes share through a descriptor, and fences that
// others reach.
#pragma once

#include <backplane/extensions/semaphores.h>

namespace reference {

extern const bp_semaphores semaphore_functions;

}  // namespace reference
