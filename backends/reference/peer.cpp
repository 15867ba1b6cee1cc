#include "peer.hpp"

#include "device.hpp"

namespace reference {
namespace {

// The host copies, through its own memory.
bp_code copy(bp_device*, const bp_region*, bp_stream*, bp_device*, const bp_region*, bp_stream*) {
  return BP_UNSUPPORTED;
}

bp_code link(bp_device* target, bp_device* source, bp_link* out) {
  out->kind = target == source ? BP_LINK_SAME : BP_LINK_HOST;
  return BP_OK;
}

}  // namespace

constexpr bp_peer peer_functions{
    {sizeof(bp_peer), BP_TYPE_EXTENSION, nullptr}, copy, link, nullptr};

}  // namespace reference
