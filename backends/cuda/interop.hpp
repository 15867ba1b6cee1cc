// The extension bp.interop: contexts, streams, events and memory shared with an application that uses CUDA itself.
#pragma once

#include <backplane/extensions/interop.h>

namespace cuda_backend {

extern const bp_interop interop_functions;

}  // namespace cuda_backend
