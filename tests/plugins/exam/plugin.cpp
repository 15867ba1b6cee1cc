// The correct plugin, as `exam_correct_plugin`: the exported function is in host_side.cpp, and stands before it.
// alone: it renames the exported function
#include <cstring>

#define bp_get_plugin_v1 exam_correct_plugin
#include <backplane/extensions/peer.h>
#include <backplane/plugin.hpp>

#include "device.hpp"
#include "faults.hpp"
#include "host_memory.hpp"
#include "numerics.hpp"
#include "order.hpp"

const bp_header* reference::Device::extension(const char* name, uint32_t min_version) {
  if (const bp_header* found = exam::host_memory(name, min_version)) return found;
  if (std::strcmp(name, BP_PEER) == 0 && min_version <= BP_PEER_VERSION) return &exam::peer.h;
  static constexpr bp_inject inject = inject_of<Device>();
  if (std::strcmp(name, BP_INJECT) == 0 && min_version <= BP_INJECT_VERSION) return &inject.h;
  if (const bp_header* found = exam::capture_extension(name, min_version)) return found;
  if (const bp_header* found = exam::order_extension(name, min_version)) return found;
  if (const bp_header* found = exam::stream_memory(name, min_version)) return found;
  return exam::declared_numerics(name, min_version);
}

BP_PLUGIN(reference::Device, pointwise, reduction, matmul, gather, sort, copy, factory, more)
