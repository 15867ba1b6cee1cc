// The software device `reference`, kept for the sake of the host: it shows every mistake that a device with
// its own memory and its own time would, on any machine.
#include <cstring>

#include <backplane/extensions/interop.h>
#include <backplane/extensions/reference.h>
#include <backplane/plugin.hpp>

#include "device.hpp"
#include "hooks.hpp"
#include "host_calls.hpp"
#include "interop.hpp"
#include "native.hpp"
#include "peer.hpp"
#include "semaphores.hpp"

const bp_header* reference::Device::extension(const char* name, uint32_t min_version) {
  if (min_version > 1) return nullptr;
  if (std::strcmp(name, "reference.hooks") == 0) return hooks();
  if (std::strcmp(name, BP_REFERENCE_NATIVE) == 0) return &native_functions.h;
  if (std::strcmp(name, BP_INTEROP) == 0) return &interop_functions.h;
  if (std::strcmp(name, BP_PEER) == 0) return &peer_functions.h;
  if (std::strcmp(name, BP_HOST_CALLS) == 0) return &host_call_functions.h;
  if (std::strcmp(name, BP_SEMAPHORES) == 0) return &semaphore_functions.h;
  if (std::strcmp(name, BP_STREAM_MEMORY) == 0) return &stream_memory_functions.h;
  static constexpr bp_inject inject = reference::inject_of<reference::Device>();
  if (std::strcmp(name, BP_INJECT) == 0) return &inject.h;
  return nullptr;
}

BP_PLUGIN(reference::Device)
