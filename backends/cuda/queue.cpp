#include "queue.hpp"

#include <algorithm>

#include "device.hpp"
#include "staging.hpp"

namespace cuda_backend {
namespace {

constexpr const char* earlier = "work given earlier to this stream";

// Lower is more urgent, here as there, and what lies beyond the card's range counts as its end.
int clamped_priority(int32_t priority) {
  int least = 0, greatest = 0;
  driver.cuCtxGetStreamPriorityRange(&least, &greatest);
  return std::clamp<int>(priority, greatest, least);
}

}  // namespace

// ---- Streams -----------------------------------------------------------------------------------------

Queue::Queue(Device& device, int32_t priority) : device_(device) {
  const Current current(device.context());
  const OutsideCapture outside;
  require("creating a stream", driver.cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING,
                                                                 clamped_priority(priority)));
}

Queue::Queue(Device& device, CUstream adopted)
    : device_(device), stream_(adopted), is_own_(false) {}

Queue::~Queue() {
  if (!device_.check_process().is_ok()) return;
  const Current current(device_.context());
  delete staging_.load();
  if (CUevent mark = mark_.load()) driver.cuEventDestroy(mark);
  // Fails after the card was lost, when nothing can be done about it.
  if (is_own_) driver.cuStreamDestroy(stream_);
  host_calls_.run_the_rest();
}

bp::Status Queue::synchronize() {
  if (bp::Status status = device_.check_process(); !status.is_ok()) return status;
  if (bp::Status status = refuse_in_recording("synchronize"); !status.is_ok()) return status;
  const Current current(device_.context());
  return check(earlier, driver.cuStreamSynchronize(stream_));
}

bp::Status Queue::query() {
  if (bp::Status status = device_.check_process(); !status.is_ok()) return status;
  if (bp::Status status = refuse_in_recording("query"); !status.is_ok()) return status;
  const Current current(device_.context());
  const CUresult error = driver.cuStreamQuery(stream_);
  if (error == CUDA_ERROR_NOT_READY) return bp::Status::from_host(BP_RETRY);
  return check(earlier, error);
}

bp::Status Queue::explain(const char* what, int error) const {
  if (class_of(error) != BP_DEVICE_LOST) return failed(what, error);
  const int own = device_.found().ordinal, first = first_lost_card(own);
  if (first != own) {
    return bp::device_lost(
        "%s: %s; this process has lost card %d before, after which CUDA allows it no card: restart "
        "the process",
        what, name_of(error).c_str(), first);
  }
  const char* kernel = last_kernel_.load(std::memory_order_relaxed);
  return bp::device_lost(
      "%s: %s; the kernel given last before was %s (CUDA_LAUNCH_BLOCKING=1 in the environment "
      "makes "
      "it the one that failed)",
      what, name_of(error).c_str(), kernel != nullptr ? kernel : "none of ours");
}

Staging& Queue::staging() {
  if (Staging* made = staging_.load(std::memory_order_acquire)) return *made;
  auto made = std::make_unique<Staging>(*this);
  Staging* expected = nullptr;
  if (staging_.compare_exchange_strong(expected, made.get())) return *made.release();
  return *expected;
}

bp::Result<CUevent> Queue::mark() {
  const Current current(device_.context());
  CUevent event = mark_.load(std::memory_order_acquire);
  if (event == nullptr) {
    const OutsideCapture outside;
    CUevent made = nullptr;
    const CUresult error = driver.cuEventCreate(&made, CU_EVENT_DISABLE_TIMING);
    if (error != CUDA_SUCCESS) return explain("creating an event", error);
    if (mark_.compare_exchange_strong(event, made))
      event = made;
    else
      driver.cuEventDestroy(made);
  }
  const CUresult error = driver.cuEventRecord(event, stream_);
  if (error != CUDA_SUCCESS) return explain("record_event", error);
  return event;
}

// ---- Events ------------------------------------------------------------------------------------------

Event::Event(Device& device) : device_(device) {
  const Current current(device.context());
  const OutsideCapture outside;
  // With its time, which any event may be asked for.
  require("creating an event", driver.cuEventCreate(&event_, CU_EVENT_DEFAULT));
}

Event::~Event() {
  if (!device_.check_process().is_ok()) return;
  const Current current(device_.context());
  driver.cuEventDestroy(event_);
}

bp::Status Event::record(Queue& queue) {
  if (bp::Status status = device_.check_process(); !status.is_ok()) return status;
  if (bp::Status status = queue.refuse_in_recording("record_event"); !status.is_ok()) return status;
  const Current current(device_.context());
  return queue.check("record_event", driver.cuEventRecord(event_, queue.get()));
}

bp::Status Event::make_wait(Queue& queue) {
  if (bp::Status status = device_.check_process(); !status.is_ok()) return status;
  if (bp::Status status = queue.refuse_in_recording("wait_event"); !status.is_ok()) return status;
  const Current current(queue.device().context());  // which may be another card's
  return queue.check("wait_event", driver.cuStreamWaitEvent(queue.get(), event_, 0));
}

bp::Status Event::query() {
  if (bp::Status status = device_.check_process(); !status.is_ok()) return status;
  const Current current(device_.context());
  const CUresult error = driver.cuEventQuery(event_);
  if (error == CUDA_ERROR_NOT_READY) return bp::Status::from_host(BP_RETRY);
  return check("work before an event", error);
}

bp::Status Event::synchronize() {
  if (bp::Status status = device_.check_process(); !status.is_ok()) return status;
  const Current current(device_.context());
  return check("work before an event", driver.cuEventSynchronize(event_));
}

bp::Result<double> Event::elapsed(Event& start, Event& end) {
  if (bp::Status status = start.device_.check_process(); !status.is_ok()) return status;
  const Current current(start.device_.context());
  float ms = 0;
  const CUresult error = driver.cuEventElapsedTime(&ms, start.event_, end.event_);
  if (error == CUDA_ERROR_INVALID_HANDLE)
    return bp::bad_argument("elapsed: an event was not recorded");
  if (error == CUDA_ERROR_NOT_READY)
    return bp::bad_argument("elapsed: an event is not yet reached");
  if (error != CUDA_SUCCESS) return failed("elapsed", error);
  return static_cast<double>(ms) * 1e6;
}

}  // namespace cuda_backend
