#include "queue_faults.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "device.hpp"
#include "faults.hpp"
#include "variant.hpp"

namespace exam {
namespace {

bp_queue right;
bp_memory right_memory;

// The stream that an event was recorded on last.
std::mutex events_mutex;
std::map<bp_event*, bp_stream*> recorded_on;
std::set<bp_event*> living;

bp_code query_always_idle(bp_device*, bp_stream*) {
  return BP_OK;
}

bp_code synchronize_event_forgotten(bp_device*, bp_event*) {
  return BP_OK;
}

bp_code elapsed_zero(bp_device*, bp_event*, bp_event*, double* out) {
  return *out = 0, BP_OK;
}

bp_code elapsed_in_microseconds(bp_device* device, bp_event* start, bp_event* end, double* out) {
  const bp_code code = right.elapsed(device, start, end, out);
  return *out /= 1000, code;
}

bp_code fill_elsewhere(bp_device* device, const bp_region* to, const void* pattern, uint32_t bytes,
                       bp_stream*) {
  return right_memory.fill(device, to, pattern, bytes, nullptr);
}

bp_code copy_elsewhere(bp_device* device, const bp_region* to, const bp_region* from,
                       uint32_t direction, bp_stream* stream) {
  return right_memory.copy(device, to, from, direction,
                           direction == BP_COPY_WITHIN ? nullptr : stream);
}

bp_code null_stream_always_idle(bp_device* device, bp_stream* stream) {
  return stream == nullptr ? BP_OK : right.query_stream(device, stream);
}

bp_code recording_of_null_lost(bp_device* device, bp_event* event, bp_stream* stream) {
  static bp_stream* const idle = [device] {
    bp_stream* made = nullptr;
    return right.create_stream(device, 0, &made) == BP_OK ? made : nullptr;
  }();
  return right.record_event(device, event, stream ? stream : idle);
}

// What is large goes by an engine of its own, which nobody told of the stream.
bp_code large_copy_overtakes(bp_device* device, const bp_region* to, const bp_region* from,
                             uint32_t direction, bp_stream* stream) {
  const bool is_large = to->bytes >= 1 << 20 && direction != BP_COPY_WITHIN;
  return right_memory.copy(device, to, from, direction, is_large ? nullptr : stream);
}

// ---- Late errors ---------------------------------------------------------------------------------------

bp_code forget_error(bp_device* device, bp_stream* stream) {
  (void)right.synchronize(device, stream);
  return BP_OK;
}

bp_code forget_error_in_query(bp_device* device, bp_stream* stream) {
  const bp_code code = right.query_stream(device, stream);
  return code == BP_RETRY ? code : BP_OK;
}

bp_code tell_error_twice(bp_device* device, bp_stream* stream) {
  static std::map<bp_stream*, bp_code> told;
  const bp_code code = right.synchronize(device, stream);
  const std::lock_guard lock(events_mutex);
  const bp_code before = std::exchange(told[stream], code);
  return code == BP_OK && before != BP_OK ? host->set_error(host, before, "once more") : code;
}

bp_code spread_error(bp_device* device, bp_stream* stream) {
  static bp_stream* failed = nullptr;
  static bp_code pending = BP_OK;
  const bp_code code = right.synchronize(device, stream);
  const std::lock_guard lock(events_mutex);
  if (code != BP_OK) return failed = stream, pending = code, code;
  if (pending == BP_OK || failed == stream) return code;
  return host->set_error(host, std::exchange(pending, BP_OK), "another stream failed");
}

bp_code lose_but_live(bp_device* device, bp_stream* stream) {
  const bp_code code = right.synchronize(device, stream);
  return code == BP_INTERNAL ? host->set_error(host, BP_STREAM_LOST, "the stream is lost") : code;
}

// Of this process, whatever becomes of the device.
std::atomic<bool> null_stream_lost{false};

bp_code note_loss(bp_device* device, bp_stream* stream) {
  if (stream == nullptr && null_stream_lost && fault_is("null_stream_stays_lost"))
    return host->set_error(host, BP_STREAM_LOST, "the stream was lost");
  const bp_code code = right.synchronize(device, stream);
  if (stream == nullptr && code == BP_STREAM_LOST) null_stream_lost = true;
  return code;
}

bp_code copy_if_nothing_is_lost(bp_device* device, const bp_region* to, const bp_region* from,
                                uint32_t direction, bp_stream* stream) {
  if (stream != nullptr && null_stream_lost)
    return host->set_error(host, BP_STREAM_LOST, "the device's own stream was lost");
  return right_memory.copy(device, to, from, direction, stream);
}

bp_code note_recording(bp_device* device, bp_event* event, bp_stream* stream) {
  {
    const std::lock_guard lock(events_mutex);
    recorded_on[event] = stream;
    living.insert(event);
  }
  return right.record_event(device, event, stream);
}

bp_stream* stream_of(bp_event* event) {
  const std::lock_guard lock(events_mutex);
  return recorded_on[event];
}

bp_code consume_error(bp_device* device, bp_event* event) {
  (void)right.synchronize(device, stream_of(event));
  return BP_OK;
}

bp_code tell_error(bp_device* device, bp_event* event) {
  return right.synchronize(device, stream_of(event));
}

// ---- Which recording a wait means ------------------------------------------------------------------------

bp_code wait_for_newest(bp_device* device, bp_stream* stream, bp_event* event) {
  auto& on = *reinterpret_cast<reference::Device*>(device);
  return on.queue_of(reinterpret_cast<reference::Queue*>(stream))
      .submit([=] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        (void)right.synchronize_event(device, event);
        return reference::Outcome{};
      })
      .code();
}

bool is_living(bp_event* event) {
  const std::lock_guard lock(events_mutex);
  return living.count(event) != 0;
}

bp_code wait_while_it_lives(bp_device* device, bp_stream* stream, bp_event* event) {
  auto& on = *reinterpret_cast<reference::Device*>(device);
  return on.queue_of(reinterpret_cast<reference::Queue*>(stream))
      .submit([=] {
        while (is_living(event) && right.query_event(device, event) == BP_RETRY)
          std::this_thread::sleep_for(std::chrono::microseconds(50));
        return reference::Outcome{};
      })
      .code();
}

// The event itself stays: who waits may be looking at it.
void end_of_life(bp_device*, bp_event* event) {
  const std::lock_guard lock(events_mutex);
  living.erase(event);
}

constexpr std::string_view names[] = {"query_always_idle",
                                      "synchronize_event_forgotten",
                                      "elapsed_zero",
                                      "elapsed_in_microseconds",
                                      "fill_elsewhere",
                                      "copy_elsewhere",
                                      "capture_drops",
                                      "capture_repeats",
                                      "capture_cut_at_64",
                                      "null_stream_always_idle",
                                      "recording_of_null_lost",
                                      "large_copy_overtakes",
                                      "late_error_lost",
                                      "late_error_twice",
                                      "late_error_spreads",
                                      "lost_stream_goes_on",
                                      "event_takes_error",
                                      "event_tells_error",
                                      "errs_and_does_it",
                                      "wait_for_newest",
                                      "destroyed_event_lets_go",
                                      "null_stream_stays_lost",
                                      "lost_null_stream_takes_all"};

}  // namespace

bool is_queue_fault(std::string_view fault) {
  return std::find(std::begin(names), std::end(names), fault) != std::end(names);
}

bp_code failure_of_work(bp_code code) {
  return fault_is("lost_stream_goes_on") && code == BP_STREAM_LOST ? BP_INTERNAL : code;
}

void spoil_queue(bp_queue& queue, bp_memory& memory) {
  right = queue;
  right_memory = memory;
  if (fault_is("query_always_idle")) queue.query_stream = query_always_idle;
  if (fault_is("synchronize_event_forgotten"))
    queue.synchronize_event = synchronize_event_forgotten;
  if (fault_is("elapsed_zero")) queue.elapsed = elapsed_zero;
  if (fault_is("elapsed_in_microseconds")) queue.elapsed = elapsed_in_microseconds;
  if (fault_is("fill_elsewhere")) memory.fill = fill_elsewhere;
  if (fault_is("copy_elsewhere")) memory.copy = copy_elsewhere;
  if (fault_is("null_stream_always_idle")) queue.query_stream = null_stream_always_idle;
  if (fault_is("recording_of_null_lost")) queue.record_event = recording_of_null_lost;
  if (fault_is("large_copy_overtakes")) memory.copy = large_copy_overtakes;
  if (fault_is("late_error_lost")) {
    queue.synchronize = forget_error;
    queue.query_stream = forget_error_in_query;
  }
  if (fault_is("late_error_twice")) queue.synchronize = tell_error_twice;
  if (fault_is("late_error_spreads")) queue.synchronize = spread_error;
  if (fault_is("lost_stream_goes_on")) queue.synchronize = lose_but_live;
  if (fault_is("null_stream_stays_lost") || fault_is("lost_null_stream_takes_all"))
    queue.synchronize = note_loss;
  if (fault_is("lost_null_stream_takes_all")) memory.copy = copy_if_nothing_is_lost;
  if (fault_is("event_takes_error")) queue.synchronize_event = consume_error;
  if (fault_is("event_tells_error")) queue.synchronize_event = tell_error;
  if (fault_is("event_takes_error") || fault_is("event_tells_error") ||
      fault_is("destroyed_event_lets_go"))
    queue.record_event = note_recording;
  if (fault_is("wait_for_newest")) queue.wait_event = wait_for_newest;
  if (fault_is("destroyed_event_lets_go")) {
    queue.wait_event = wait_while_it_lives;
    queue.destroy_event = end_of_life;
  }
}

}  // namespace exam
