#include "host_calls.hpp"

#include <algorithm>

#include "constants.hpp"
#include "device.hpp"

namespace cuda_backend {
namespace {

void CUDA_CB run_call(void* call) {
  static_cast<HostCall*>(call)->run();
}

bp_code call(bp_device* device, bp_stream* stream, void (*function)(void*), void* context) {
  return bp::guarded([=]() -> bp::Status {
    Queue& queue = Device::of(device).queue_of(stream);
    if (bp::Status status = queue.device().check_process(); !status.is_ok()) return status;
    if (bp::Status status = queue.refuse_in_recording("a function of the host"); !status.is_ok())
      return status;
    const Current current(queue.device().context());
    HostCall& given = queue.host_calls().add(function, context);
    const CUresult error = driver.cuLaunchHostFunc(queue.get(), run_call, &given);
    if (error != CUDA_SUCCESS) queue.host_calls().drop(given);
    return queue.check("a function of the host", error);
  });
}

}  // namespace

HostCall& HostCalls::add(void (*function)(void*), void* context) {
  std::lock_guard lock(mutex_);
  // The driver has returned from `run` of all but the last that is called: they are in order.
  if (calls_.size() > constants::kept_host_calls) {
    const auto uncalled = std::find_if(calls_.begin(), calls_.end(),
                                       [](const auto& each) { return !each->is_called(); });
    if (uncalled - calls_.begin() > 1) calls_.erase(calls_.begin(), uncalled - 1);
  }
  return *calls_.emplace_back(std::make_unique<HostCall>(function, context));
}

void HostCalls::drop(const HostCall& call) {
  std::lock_guard lock(mutex_);
  calls_.erase(std::find_if(calls_.begin(), calls_.end(),
                            [&](const auto& each) { return each.get() == &call; }));
}

void HostCalls::run_the_rest() {
  for (const auto& each : calls_) each->run();
  calls_.clear();
}

const bp_host_calls host_call_functions = {{sizeof(bp_host_calls), BP_TYPE_EXTENSION, nullptr},
                                           call};

}  // namespace cuda_backend
