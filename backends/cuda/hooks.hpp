// The extension "cuda.hooks": what the tests see without a card.
#pragma once

#include <backplane/extensions/cuda.h>

namespace cuda_backend {

extern const bp_cuda_hooks hooks_functions;

}  // namespace cuda_backend
