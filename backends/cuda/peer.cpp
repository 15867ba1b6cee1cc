#include "peer.hpp"

#include <backplane/plugin/peer.hpp>

#include "device.hpp"

namespace cuda_backend {
namespace {

// Lets `from` reach the memory of `to` directly. Where it cannot, the driver copies through the host by itself.
void open_path(Device& from, Device& to) {
  if (!from.needs_path_to(to)) return;
  int possible = 0;
  driver.cuDeviceCanAccessPeer(&possible, from.found().id, to.found().id);
  if (possible == 0) return;
  const Current current(from.context());
  CUresult error = to.memory().open_to(from.found().id);
  if (error == CUDA_SUCCESS) error = driver.cuCtxEnablePeerAccess(to.context(), 0);
  if (error == CUDA_SUCCESS || error == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) return;
  bp::log(bp::LogLevel::info, "cards %d and %d copy through the host: %s", from.found().ordinal,
          to.found().ordinal, name_of(error).c_str());
}

// Later work of `queue` waits for what `other` has been given.
bp::Status join(Queue& queue, Queue& other) {
  bp::Result<CUevent> reached = other.mark();
  if (!reached.is_ok()) return reached.status();
  const Current current(queue.device().context());
  return queue.check("copy", driver.cuStreamWaitEvent(queue.get(), reached.value(), 0));
}

bp::Status copy(const bp::Region& to, Queue& target, const bp::Region& from, Queue& source) {
  if (bp::Status status = target.device().check_process(); !status.is_ok()) return status;
  for (Queue* queue : {&target, &source}) {
    bp::Status status = queue->refuse_in_recording("a copy between cards");
    if (!status.is_ok()) return status;
  }
  open_path(source.device(), target.device());
  open_path(target.device(), source.device());
  if (bp::Status status = join(source, target); !status.is_ok()) return status;
  {
    const Current current(source.device().context());
    const CUresult error = driver.cuMemcpyPeerAsync(
        to.handle + to.offset, target.device().context(), from.handle + from.offset,
        source.device().context(), from.bytes, source.get());
    if (error != CUDA_SUCCESS) return source.explain("copy", error);
  }
  return join(target, source);
}

bool has(CUdevice_P2PAttribute attribute, const Device& target, const Device& source) {
  int value = 0;
  const CUresult error =
      driver.cuDeviceGetP2PAttribute(&value, attribute, target.found().id, source.found().id);
  return error == CUDA_SUCCESS && value != 0;
}

// The driver names no kind of link; but only NVLink carries atomics between cards.
bp::Status link(Device& target, Device& source, bp_link& out) {
  if (target.found().ordinal == source.found().ordinal)
    out.kind = BP_LINK_SAME;
  else if (!has(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, target, source))
    out.kind = BP_LINK_HOST;
  else if (has(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, target, source))
    out.kind = BP_LINK_FABRIC;
  else
    out.kind = BP_LINK_PCI;
  return bp::ok;
}

bp::Status wait(Queue& target, Event& event) {
  return event.make_wait(target);
}

}  // namespace

constexpr bp_peer peer_functions = bp::peer_of<Device, copy, link, wait>();

}  // namespace cuda_backend
