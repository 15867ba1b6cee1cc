#include "queue.hpp"

#include <algorithm>

#include "device.hpp"

namespace level_zero {
namespace {

constexpr const char* earlier = "work given earlier to this stream";

// ok, BP_RETRY or the failure of the work before it.
bp::Status status_of(Device& device, const Mark& mark) {
  const ze_result_t result = loader.zeEventQueryStatus(mark.get());
  if (result == ZE_RESULT_NOT_READY) return bp::Status::from_host(BP_RETRY);
  return device.check(earlier, "zeEventQueryStatus", result);
}

bp::Status wait_until(Device& device, const Mark& mark) {
  return device.check(earlier, "zeEventHostSynchronize",
                      loader.zeEventHostSynchronize(mark.get(), UINT64_MAX));
}

}  // namespace

// ---- Streams -----------------------------------------------------------------------------------------

Queue::Queue(Device& device, int32_t priority)
    : device_(device), state_(device.state()), lists_(device, priority) {}

Queue::~Queue() {
  if (device_.check().is_ok()) (void)synchronize();
}

bp::Status Queue::synchronize() {
  if (bp::Status status = state_.check(); !status.is_ok()) return status;
  if (bp::Status status = refuse_in_recording("synchronize"); !status.is_ok()) return status;
  uint64_t given = 0;
  bp::Result<Mark> end = mark(&given);
  if (!end.is_ok()) return end.status();
  if (bp::Status status = wait_until(device_, end.value()); !status.is_ok()) return status;
  std::lock_guard lock(marking_);
  done_ = std::max(done_, given);
  return bp::ok;
}

bp::Status Queue::query() {
  if (bp::Status status = state_.check(); !status.is_ok()) return status;
  if (bp::Status status = refuse_in_recording("query"); !status.is_ok()) return status;
  std::lock_guard lock(marking_);
  const uint64_t given = given_.load(std::memory_order_relaxed);
  if (done_ >= given) return bp::ok;
  if (!last_ || marked_ < given) {
    bp::Result<Mark> end = mark(&marked_);
    if (!end.is_ok()) return end.status();
    last_ = std::move(end.value());
  }
  const bp::Status status = status_of(device_, last_);
  if (status.code() == BP_RETRY) return status;
  if (status.is_ok()) done_ = std::max(done_, marked_);
  last_.reset();
  return status;
}

bp::Result<Mark> Queue::mark(uint64_t* given) {
  bp::Result<Mark> taken = device_.marks().take();
  if (!taken.is_ok()) return taken;
  bp::Status status =
      submit("a place in a stream", "zeCommandListAppendBarrier", [&](OrderedList& list) {
        if (given != nullptr) *given = given_.load(std::memory_order_relaxed);
        return list.mark(taken.value().get());
      });
  if (!status.is_ok()) return status;
  return taken;
}

bp::Status Queue::wait_for(const Mark& awaited) {
  bp::Status status = submit("wait_event", "zeCommandListAppendWaitOnEvents",
                             [&](OrderedList& list) { return list.wait(awaited.get()); });
  if (!status.is_ok()) return status;
  bp::Result<Mark> until = mark();
  if (!until.is_ok()) return until.status();
  std::lock_guard lock(marking_);
  while (!waited_.empty() && status_of(device_, waited_.front().until).is_ok()) waited_.pop_front();
  waited_.push_back({awaited, until.value()});
  return bp::ok;
}

bp::Status Queue::run(ze_command_list_handle_t closed, const Mark& start, const Mark& done) {
  if (bp::Status status = state_.check(); !status.is_ok()) return status;
  std::lock_guard lock(mutex_);
  given_.fetch_add(1, std::memory_order_relaxed);
  return state_.check("replay", "zeCommandQueueExecuteCommandLists",
                      lists_.run(closed, start.get(), done.get()));
}

void Queue::set_recording(Recording* recording) {
  std::lock_guard lock(mutex_);
  recording_ = recording;
}

Staging& Queue::staging() {
  std::lock_guard lock(marking_);
  if (!staging_) staging_ = std::make_unique<Staging>(device_);
  return *staging_;
}

// ---- Events ------------------------------------------------------------------------------------------

bp::Status Event::record(Queue& queue) {
  if (bp::Status status = queue.refuse_in_recording("record_event"); !status.is_ok()) return status;
  bp::Result<Mark> made = queue.mark();
  if (!made.is_ok()) return made.status();
  std::lock_guard lock(mutex_);
  mark_.swap(made.value());
  return bp::ok;
}

bp::Status Event::make_wait(Queue& queue) {
  if (bp::Status status = queue.refuse_in_recording("wait_event"); !status.is_ok()) return status;
  const Mark awaited = mark();
  return awaited ? queue.wait_for(awaited) : bp::ok;
}

bp::Status Event::query() {
  if (bp::Status status = device_.check(); !status.is_ok()) return status;
  const Mark recorded = mark();
  return recorded ? status_of(device_, recorded) : bp::ok;
}

bp::Status Event::synchronize() {
  if (bp::Status status = device_.check(); !status.is_ok()) return status;
  const Mark recorded = mark();
  return recorded ? wait_until(device_, recorded) : bp::ok;
}

bp::Result<double> Event::elapsed(Event& start, Event& end) {
  bp::Result<uint64_t> from = start.reached_at();
  if (!from.is_ok()) return from.status();
  bp::Result<uint64_t> to = end.reached_at();
  if (!to.is_ok()) return to.status();
  // The clock has fewer than 64 bits on some devices, and starts again from 0.
  const ze_device_properties_t& properties = start.device_.found().properties;
  const uint32_t bits = properties.kernelTimestampValidBits;
  const uint64_t all = bits == 0 || bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const uint64_t cycles = (to.value() - from.value()) & all;
  const bool is_back = cycles > all / 2;  // `end` lies before `start`
  const double distance =
      is_back ? -static_cast<double>((~cycles + 1) & all) : static_cast<double>(cycles);
  return distance * 1e9 / static_cast<double>(properties.timerResolution);
}

Mark Event::mark() {
  std::lock_guard lock(mutex_);
  return mark_;
}

bp::Result<uint64_t> Event::reached_at() {
  if (bp::Status status = device_.check(); !status.is_ok()) return status;
  const Mark recorded = mark();
  if (!recorded) return bp::bad_argument("elapsed: an event was not recorded");
  ze_kernel_timestamp_result_t times{};
  ze_result_t result = loader.zeEventQueryStatus(recorded.get());
  if (result == ZE_RESULT_SUCCESS)
    result = loader.zeEventQueryKernelTimestamp(recorded.get(), &times);
  if (result == ZE_RESULT_NOT_READY)
    return bp::bad_argument("elapsed: an event is not yet reached");
  bp::Status status = device_.check("elapsed", "zeEventQueryKernelTimestamp", result);
  if (!status.is_ok()) return status;
  return times.global.kernelEnd;
}

}  // namespace level_zero
