// Events: the application's, and the core's own pool of them.
#include <mutex>
#include <utility>

#include <backplane/runtime/capturing.hpp>
#include <backplane/runtime/stream.hpp>
#include <backplane/tensor/check.hpp>

#include "devices/device_state.hpp"

namespace bp {
namespace {

void check(DeviceRecord& record, bp_code code, const char* what) {
  if (code != BP_OK) throw_plugin_error(record, code, what);
}

void check_reachable(DeviceRecord& record) {
  if (state_of(record).is_left_behind()) throw_left_behind(record);
  clear_plugin_error();
}

void check_not_captured(const char* action, const StreamImpl& stream) {
  check_outside_capture(action, stream, "an event", "use it before, or around the replay");
}

void check_same_device(const char* op, const DeviceRecord& event, const DeviceRecord& stream) {
  BP_CHECK(
      &event == &stream,
      "{}: the event belongs to {} and the stream to {}; make the event on the stream's device", op,
      event.name, stream.name);
}

// Lets the stream wait for another device's event. False: the two devices know nothing of each other, and nothing happened.
bool wait_between_devices(DeviceRecord& source, bp_event* event, StreamImpl& stream) {
  DeviceRecord& target = *stream.record;
  if (target.backend != source.backend) return false;
  const bp_peer& peer = extensions_of(target).peer;
  if (!peer.wait_event) return false;
  clear_plugin_error();
  bp_stream* const used = stream.raw;
  const bp_code code = peer.wait_event(target.handle, used, source.handle, event);
  if (code == BP_UNSUPPORTED) return false;
  if (code != BP_OK) throw_stream_error(stream, used, code, "wait");
  return true;
}

}  // namespace

bp_event* take_event(DeviceState& state) noexcept {
  if (!state.queue->create_event || state.is_gone()) return nullptr;
  {
    const std::lock_guard lock(state.mutex);
    if (!state.idle_events.empty()) {
      bp_event* event = state.idle_events.back();
      state.idle_events.pop_back();
      return event;
    }
  }
  bp_event* event = nullptr;
  return state.queue->create_event(state.handle, &event) == BP_OK ? event : nullptr;
}

void give_event(DeviceState& state, bp_event* event) noexcept {
  try {
    const std::lock_guard lock(state.mutex);
    state.idle_events.push_back(event);
    return;
  } catch (...) {  // no memory for the pool
  }
  if (!state.is_left_behind()) state.queue->destroy_event(state.handle, event);
}

bool is_reached_quietly(DeviceState& state, bp_event* event, StreamState& stream) noexcept {
  if (is_gone(stream)) return true;
  clear_plugin_error();
  bp_stream* const used = stream.raw;
  const bp_code code = state.queue->query_event(state.handle, event);
  if (code == BP_RETRY) return false;
  if (code != BP_OK) keep_error(stream, used, code);
  return true;
}

// Without the backend's events an Event has no `raw_`: record() then waits at once, so that every
// point it ever names is reached.
Event::Event(Device device) : record_(&device_record(device)) {
  if (record_->backend && record_->queue->create_event) {
    clear_plugin_error();
    check(*record_, record_->queue->create_event(record_->handle, &raw_), "create_event");
    if (!raw_)
      throw_error(ErrorClass::internal,
                  fmt::format("create_event: it succeeded without an event (plugin {}, device {})",
                              record_->backend->name, record_->name));
  }
  record_->live_events.fetch_add(1, std::memory_order_relaxed);
}

Event::Event(Event&& other) noexcept
    : record_(std::exchange(other.record_, nullptr)), raw_(std::exchange(other.raw_, nullptr)),
      recorded_on_(std::exchange(other.recorded_on_, nullptr)) {}

Event::~Event() {
  if (!record_) return;
  if (raw_ && !state_of(*record_).is_left_behind())
    record_->queue->destroy_event(record_->handle, raw_);
  record_->live_events.fetch_sub(1, std::memory_order_relaxed);
}

void Event::record(const Stream& stream) {
  check_same_device("record", *record_, *stream.impl()->record);
  check_not_captured("record", *stream.impl());
  if (!raw_) return stream.synchronize();
  check_reachable(*record_);
  bp_stream* const used = stream.impl()->raw;
  const bp_code code = record_->queue->record_event(record_->handle, raw_, used);
  if (code != BP_OK) throw_stream_error(*stream.impl(), used, code, "record");
  recorded_on_ = stream.impl();
}

void Event::wait(const Stream& stream) const {
  DeviceRecord& waiting = *stream.impl()->record;
  check_not_captured("wait", *stream.impl());
  if (!raw_) return;
  check_reachable(*record_);
  if (recorded_on_ && waiting.backend == record_->backend)
    note_wait(state_of(*stream.impl()), state_of(*recorded_on_));
  if (&waiting != record_) {
    if (!wait_between_devices(*record_, raw_, *stream.impl())) synchronize();
    return;
  }
  bp_stream* const used = stream.impl()->raw;
  const bp_code code = record_->queue->wait_event(record_->handle, used, raw_);
  if (code != BP_OK) throw_stream_error(*stream.impl(), used, code, "wait");
}

bool Event::query() const {
  if (!raw_) return true;
  check_reachable(*record_);
  const bp_code code = record_->queue->query_event(record_->handle, raw_);
  if (code == BP_RETRY) return false;
  check(*record_, code, "query");
  return true;
}

void Event::synchronize() const {
  if (!raw_) return;
  check_reachable(*record_);
  check(*record_, record_->queue->synchronize_event(record_->handle, raw_), "synchronize");
}

double Event::elapsed_ms(const Event& end) const {
  check_same_device("elapsed_ms", *record_, *end.record_);
  if (!raw_ || !record_->queue->elapsed)
    throw_error(ErrorClass::unsupported,
                fmt::format("elapsed_ms: {} has no clock for events; measure on the host around "
                            "synchronize()",
                            record_->name));
  check_reachable(*record_);
  double ns = 0;
  check(*record_, record_->queue->elapsed(record_->handle, raw_, end.raw_, &ns), "elapsed_ms");
  return ns / 1e6;
}

}  // namespace bp
