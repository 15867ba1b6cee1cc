#include "host_calls.hpp"

#include <backplane/plugin/host_calls.hpp>

#include "device.hpp"

namespace level_zero {
namespace {

bp::Status call(Queue& queue, void (*function)(void*), void* context) {
  Device& device = queue.device();
  if (bp::Status status = queue.refuse_in_recording("a function of the host"); !status.is_ok())
    return status;
  const std::lock_guard<std::mutex> in_order(queue.caller().order());
  bp::Result<Mark> before = queue.mark(), done = device.marks().take();
  if (!before.is_ok()) return before.status();
  if (!done.is_ok()) return done.status();
  if (bp::Status status = queue.wait_for(done.value()); !status.is_ok()) {
    loader.zeEventHostSignal(done.value().get());  // nothing is to wait for it
    return status;
  }
  try {
    queue.caller().give(
        {[before = before.value()] { loader.zeEventHostSynchronize(before.get(), UINT64_MAX); },
         function, context, [done = done.value()] { loader.zeEventHostSignal(done.get()); }});
  } catch (...) {  // no memory, or no thread
    loader.zeEventHostSignal(done.value().get());
    throw;
  }
  return bp::ok;
}

}  // namespace

const bp_host_calls host_call_functions = bp::host_calls_of<Device, call>();

}  // namespace level_zero
