// NVIDIA's cards as a backend. The host generates most kernels, through the extension bp.compiler; kernels/ holds what
// the maker's libraries do better.
#include <cstring>

#include <backplane/plugin.hpp>

#include "capture.hpp"
#include "device.hpp"
#include "hooks.hpp"
#include "host_calls.hpp"
#include "host_memory.hpp"
#include "interop.hpp"
#include "peer.hpp"

namespace cuda_backend {

const bp_header* Device::extension(const char* name, uint32_t min_version) {
  const auto is = [&](const char* offered, uint32_t version) {
    return std::strcmp(name, offered) == 0 && min_version <= version;
  };
  if (is(BP_COMPILER, BP_COMPILER_VERSION)) return &compiler_functions.h;
  if (is(BP_CAPTURE, BP_CAPTURE_VERSION)) return &capture_functions.h;
  if (is(BP_INTEROP, BP_INTEROP_VERSION)) return &interop_functions.h;
  if (is(BP_PEER, BP_PEER_VERSION)) return &peer_functions.h;
  if (is(BP_HOST_CALLS, BP_HOST_CALLS_VERSION)) return &host_call_functions.h;
  if (is(BP_STREAM_MEMORY, BP_STREAM_MEMORY_VERSION)) return &stream_memory_functions.h;
  if (is(BP_HOST_MEMORY, BP_HOST_MEMORY_VERSION)) return &host_memory_functions.h;
  if (is(BP_CUDA_HOOKS, 1)) return &hooks_functions.h;
  return nullptr;
}

}  // namespace cuda_backend

#ifdef BP_CUDNN_KERNELS
#  define BP_OF_CUDNN cuda_attention, cuda_convolution, cuda_recurrence,
#else
#  define BP_OF_CUDNN
#endif
#ifdef BP_CUFFT_KERNELS
#  define BP_OF_CUFFT cuda_fourier,
#else
#  define BP_OF_CUFFT
#endif
#ifdef BP_CUSOLVER_KERNELS
#  define BP_OF_CUSOLVER cuda_factors,
#else
#  define BP_OF_CUSOLVER
#endif
BP_PLUGIN(cuda_backend::Device, BP_OF_CUDNN BP_OF_CUFFT BP_OF_CUSOLVER cuda_matmul, cuda_nonzero,
          cuda_scaled_mm, cuda_sort)
