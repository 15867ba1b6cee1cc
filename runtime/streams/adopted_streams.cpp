// Queues of the application's as streams. The core's part of one outlives it, since blocks of memory and lists of the
// allocator point there; it then serves the next queue that is adopted.
#include <mutex>
#include <utility>

#include <backplane/runtime/capturing.hpp>
#include <backplane/tensor/check.hpp>

#include "interop/interop_table.hpp"
#include "memory/caching_allocator.hpp"
#include "memory/spaces.hpp"

namespace bp {
namespace {

// Of the plugin, for the queue; forgotten unless it is taken.
class AdoptedQueue {
 public:
  AdoptedQueue(const char* op, DeviceState& device, const bp_interop& interop,
               const NativeHandle& queue)
      : device_(device), interop_(interop) {
    native_ = {listed_kind(op, device, "a stream", interop.stream_kinds, queue.kind), queue.value};
    clear_plugin_error();
    const bp_code code = interop.adopt_stream(device.handle, &native_, &raw_);
    if (code != BP_OK) throw_plugin_error(device, code, op);
    if (!raw_)
      throw_error(ErrorClass::internal,
                  fmt::format("{}: adopt_stream succeeded without a stream (plugin {}, device {})",
                              op, device.backend->name, device.name));
  }
  ~AdoptedQueue() {
    if (raw_) interop_.forget_stream(device_.handle, raw_);
  }
  AdoptedQueue(const AdoptedQueue&) = delete;
  AdoptedQueue& operator=(const AdoptedQueue&) = delete;

  const bp_native& native() const { return native_; }
  bp_stream* raw() const { return raw_; }
  void give_to(StreamState& stream) {
    stream.native = native_;
    stream.forget = interop_.forget_stream;
    stream.raw = std::exchange(raw_, nullptr);
  }

 private:
  DeviceState& device_;
  const bp_interop& interop_;
  bp_native native_{};
  bp_stream* raw_ = nullptr;
};

bool can_adopt_streams(const bp_interop& interop) {
  return interop.adopt_stream && interop.forget_stream;
}

// The stream that holds the queue already, with a reference more; null if there is none. Under the device's lock.
StreamState* find_adopted(DeviceState& state, const bp_native& native) {
  for (const auto& stream : state.streams)
    if (stream->is_adopted && stream->native.value == native.value &&
        stream->native.kind == native.kind && try_retain(*stream))
      return stream.get();
  return nullptr;
}

// The core's part of an adopted stream, which nobody holds yet.
StreamState* take_former(DeviceState& state) {
  auto made = std::make_unique<StreamState>();
  const std::lock_guard lock(state.mutex);
  if (!state.former_adopted.empty()) {
    StreamState* former = state.former_adopted.back();
    state.former_adopted.pop_back();
    return former;
  }
  made->record = &state;
  made->is_adopted = true;
  made->refs.store(0, std::memory_order_relaxed);
  made->id = static_cast<std::uint32_t>(state.streams.size());
  state.idle_streams.reserve(state.streams.size() + 1);
  state.former_adopted.reserve(state.streams.size() + 1);  // so that giving back cannot fail
  state.streams.push_back(std::move(made));
  return state.streams.back().get();
}

void give_former(StreamState& stream) noexcept {
  DeviceState& state = state_of(*stream.record);
  const std::lock_guard lock(state.mutex);
  stream.raw = nullptr;
  stream.native = {};
  state.former_adopted.push_back(&stream);
}

// Shows `stream` to everyone as the one that holds the queue; or returns the one of another thread that was first.
StreamState* publish(StreamState& stream, AdoptedQueue& queue) {
  DeviceState& state = state_of(*stream.record);
  const std::lock_guard lock(state.mutex);
  if (StreamState* first = find_adopted(state, queue.native())) return first;
  queue.give_to(stream);
  stream.is_lost = false;
  stream.awaited.clear();
  state.live_streams.fetch_add(1, std::memory_order_relaxed);
  stream.refs.store(1, std::memory_order_release);
  return &stream;
}

// The errors that nobody has asked for are those of the default stream from now on.
void move_errors(StreamState& from, StreamState& to) {
  std::optional<Error> error = from.fault_storage ? take_fault(from) : std::nullopt;
  if (std::optional<Error> kept = take_kept_error(from)) error = std::move(kept);
  if (error) keep_error(to, std::move(*error));
}

// Without events, or without streams to adopt, the caller waits in place of the device.
bool can_wait_there(const DeviceRecord& record, const bp_interop& interop) {
  return can_adopt_streams(interop) && record.queue->create_event;
}

// Later work of `waiting` waits for what `passed` has been given.
void make_wait(const char* op, DeviceState& device, bp_stream* waiting, bp_stream* passed) {
  bp_event* event = take_event(device);
  if (!event)
    throw_error(ErrorClass::out_of_memory,
                fmt::format("{}: {} has no event left; drop some", op, device.name));
  clear_plugin_error();
  bp_code code = device.queue->record_event(device.handle, event, passed);
  if (code == BP_OK) code = device.queue->wait_event(device.handle, waiting, event);
  give_event(device, event);
  if (code != BP_OK) throw_plugin_error(device, code, op);
}

DeviceState& reachable_device(const char* op, const Stream& stream) {
  DeviceState& device = state_of(*stream.impl()->record);
  if (device.is_left_behind()) throw_left_behind(device);
  check_outside_capture(op, *stream.impl(), "another queue",
                        "order the work before, or around the replay");
  return device;
}

}  // namespace

Stream adopt_stream(Device device, const NativeHandle& queue) {
  DeviceState& state = state_of(device_record(device));
  const bp_interop& interop = extensions_of(state).interop;
  if (!can_adopt_streams(interop))
    throw_error(ErrorClass::unsupported,
                fmt::format("adopt_stream: {} cannot adopt an application's queue; its plugin does "
                            "not offer that in '{}'",
                            state.name, BP_INTEROP));
  AdoptedQueue adopted("adopt_stream", state, interop, queue);
  StreamState* mine = take_former(state);
  StreamState* stream = nullptr;
  try {
    for_each_allocator(
        state, [&](CachingAllocator& each) { each.begin_pool(*mine, *state.default_stream); });
    stream = publish(*mine, adopted);
  } catch (...) {
    give_former(*mine);
    throw;
  }
  if (stream != mine) give_former(*mine);
  Stream made;
  made.impl_ = stream;
  return made;
}

void let_go_of_adopted(StreamState& stream) noexcept {
  DeviceState& state = state_of(*stream.record);
  const bool may_call = !state.is_left_behind();
  wait_pinned(stream);
  try {
    if (may_call) move_errors(stream, state_of(*state.default_stream));
  } catch (...) {  // no memory for the text of an error
  }
  drop_fault(stream);
  for_each_allocator(state,
                     [&](CachingAllocator& each) { each.end_pool(stream, *state.default_stream); });
  if (may_call) stream.forget(state.handle, stream.raw);
  give_former(stream);
  state.live_streams.fetch_sub(1, std::memory_order_relaxed);
}

void make_native_wait(const Stream& stream, const NativeHandle& queue) {
  DeviceState& device = reachable_device("make_native_wait", stream);
  if (device.synchronous) return;
  const bp_interop& interop = extensions_of(device).interop;
  if (!can_wait_there(device, interop)) return stream.synchronize();
  const AdoptedQueue theirs("make_native_wait", device, interop, queue);
  make_wait("make_native_wait", device, theirs.raw(), stream.impl()->raw);
}

void wait_for_native(const Stream& stream, const NativeHandle& queue) {
  DeviceState& device = reachable_device("wait_for_native", stream);
  if (device.synchronous) return;
  const bp_interop& interop = extensions_of(device).interop;
  BP_CHECK(can_wait_there(device, interop),
           "wait_for_native: {} cannot take an application's queue; wait for that queue yourself",
           device.name);
  const AdoptedQueue theirs("wait_for_native", device, interop, queue);
  make_wait("wait_for_native", device, stream.impl()->raw, theirs.raw());
}

}  // namespace bp
