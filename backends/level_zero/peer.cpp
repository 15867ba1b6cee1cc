#include "peer.hpp"

#include <backplane/plugin/peer.hpp>

#include "device.hpp"

namespace level_zero {
namespace {

bool can_reach(const Device& target, const Device& source) {
  if (target.found().driver != source.found().driver) return false;
  ze_bool_t reaches = 0;
  return loader.zeDeviceCanAccessPeer(target.found().id, source.found().id, &reaches) ==
             ZE_RESULT_SUCCESS &&
         reaches != 0;
}

// Later work of `queue` waits for what `other` has been given.
bp::Status join(Queue& queue, Queue& other) {
  bp::Result<Mark> reached = other.mark();
  return reached.is_ok() ? queue.wait_for(reached.value()) : reached.status();
}

bp::Status copy(const bp::Region& to, Queue& target, const bp::Region& from, Queue& source) {
  for (Queue* queue : {&target, &source}) {
    if (bp::Status status = queue->device().check(); !status.is_ok()) return status;
    bp::Status status = queue->refuse_in_recording("a copy between devices");
    if (!status.is_ok()) return status;
  }
  if (!can_reach(target.device(), source.device())) {
    return bp::unsupported("copy: '%s' cannot reach the memory of '%s'",
                           target.device().found().properties.name,
                           source.device().found().properties.name);
  }
  if (bp::Status status = join(target, source); !status.is_ok()) return status;
  bp::Status status = copy_bytes(target, to.address(), from.address(), to.bytes);
  return status.is_ok() ? join(source, target) : status;
}

// Whether devices that reach each other do so over the maker's fabric or the bus, Level Zero does not say.
bp::Status link(Device& target, Device& source, bp_link& out) {
  if (target.found().id == source.found().id)
    out.kind = BP_LINK_SAME;
  else
    out.kind = can_reach(target, source) ? BP_LINK_UNKNOWN : BP_LINK_HOST;
  return bp::ok;
}

// Events of one driver's devices are of one context.
bp::Status wait(Queue& target, Event& event) {
  if (target.device().found().driver == event.device().found().driver)
    return event.make_wait(target);
  return bp::unsupported("wait: the event is of another driver's device");
}

}  // namespace

constexpr bp_peer peer_functions = bp::peer_of<Device, copy, link, wait>();

}  // namespace level_zero
