// Order and completion. Work of one queue runs in the order in which it was given; a null queue is the default one.
#include "device.hpp"

namespace acme {

// Returns when all work of the queue is done, with the first error of that work, once.
bp::Status Device::synchronize(Queue*) {
  return bp::ok;
}

bp::Result<Queue*> Device::create_stream() {
  return new Queue;
}

void Device::destroy_stream(Queue* queue) {
  delete queue;
}

// bp::ok: idle. While it is busy: bp::Status::from_host(BP_RETRY).
bp::Status Device::query_stream(Queue*) {
  return bp::ok;
}

}  // namespace acme
