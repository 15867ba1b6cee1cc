#include "peer.hpp"

#include "device.hpp"

namespace reference {
namespace {

// The host copies, as between any two devices: tests of that way need a device that has no other.
bp_code copy(bp_device*, const bp_region*, bp_stream*, bp_device*, const bp_region*, bp_stream*) {
  return bp::unsupported("software devices do not reach each other's memory").code();
}

bp_code link(bp_device* target, bp_device* source, bp_link* out) {
  out->kind = target == source ? BP_LINK_SAME : BP_LINK_HOST;
  return BP_OK;
}

bp_code wait_event(bp_device* target, bp_stream* stream, bp_device*, bp_event* event) {
  return bp::guarded([=] {
    return Device::of(target).wait_event(reinterpret_cast<Queue*>(stream),
                                         reinterpret_cast<Device::EventHandle*>(event));
  });
}

}  // namespace

const bp_peer peer_functions = {
    {sizeof(bp_peer), BP_TYPE_EXTENSION, nullptr}, copy, link, wait_event};

}  // namespace reference
