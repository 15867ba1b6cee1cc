// The extension bp.host_memory: pinned memory, which copies reach without a stop in staging.cpp.
#pragma once

#include <backplane/extensions/host_memory.h>

namespace cuda_backend {

extern const bp_host_memory host_memory_functions;

}  // namespace cuda_backend
