// Every call has done its work when it returns: nothing is ever waited for.
#include "device.hpp"

namespace bp::cpu {
namespace {

bp_code synchronize(bp_device*, bp_stream*) noexcept {
  return BP_OK;
}

}  // namespace

constinit const bp_queue queue_functions = [] {
  bp_queue queue{};
  queue.h = {sizeof(bp_queue), BP_TYPE_QUEUE, nullptr};
  queue.synchronize = synchronize;
  return queue;
}();

}  // namespace bp::cpu
