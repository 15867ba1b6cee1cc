// Level Zero as a backend: any device of any maker that has a driver for it. The host generates the kernels, through the
// extension bp.compiler, and hands them over as SPIR-V.
#include <cstring>

#include <backplane/extensions/capture.h>
#include <backplane/extensions/compiler.h>
#include <backplane/extensions/peer.h>
#include <backplane/plugin.hpp>

#include "capture.hpp"
#include "device.hpp"
#include "host_calls.hpp"
#include "interop.hpp"
#include "peer.hpp"

namespace level_zero {

const bp_header* Device::extension(const char* name, uint32_t min_version) {
  if (std::strcmp(name, BP_COMPILER) == 0 && min_version <= BP_COMPILER_VERSION)
    return &compiler_functions.h;
  if (std::strcmp(name, BP_CAPTURE) == 0 && min_version <= BP_CAPTURE_VERSION)
    return &capture_functions.h;
  if (std::strcmp(name, BP_INTEROP) == 0 && min_version <= BP_INTEROP_VERSION)
    return &interop_functions.h;
  if (std::strcmp(name, BP_HOST_CALLS) == 0 && min_version <= BP_HOST_CALLS_VERSION)
    return &host_call_functions.h;
  if (std::strcmp(name, BP_PEER) == 0 && min_version <= BP_PEER_VERSION) return &peer_functions.h;
  return nullptr;
}

}  // namespace level_zero

BP_PLUGIN(level_zero::Device, level_zero_matmul)
