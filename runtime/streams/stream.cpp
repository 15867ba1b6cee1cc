#include <algorithm>
#include <mutex>
#include <utility>

#include <backplane/runtime/capturing.hpp>
#include <backplane/runtime/stream.hpp>
#include <backplane/tensor/check.hpp>

#include "devices/device_state.hpp"

namespace bp {
namespace {

// Names of operators are read under it, and taken out of the streams before they are gone. Never destroyed.
CoreMutex& names_mutex() {
  static auto* mutex = new CoreMutex;
  return *mutex;
}
BP_MADE_AT_LOAD(names_mutex);

// What an error of earlier work is reported under: the last operator is the best that is known.
std::string late_what(const char* action, const StreamImpl& stream) {
  const std::lock_guard lock(names_mutex());
  const char* last = stream.last_operator.load(std::memory_order_relaxed);
  return last ? fmt::format("{} after {}", action, last) : action;
}

std::optional<KeptError> kept_error_of(StreamState& stream) {
  const std::lock_guard lock(stream.mutex);
  return stream.kept_error;
}

// One that was lost for good has an error each time.
std::optional<Error> error_of_lost(StreamState& stream) {
  if (!stream.is_lost.load(std::memory_order_relaxed)) return std::nullopt;
  return Error(
      ErrorClass::stream_lost,
      fmt::format("synchronize: a stream of {} is lost; {}", stream.record->name,
                  stream.is_adopted ? "give another queue of yours in its place"
                                    : "drop everything on the device and call reset_device()"));
}

// Another in place of what the backend has lost. Others may be using `used` at this moment, which fails, and so it is
// destroyed with the device.
bool replace_lost(StreamState& stream, bp_stream* used) noexcept {
  DeviceState& state = state_of(*stream.record);
  if (stream.raw.load() != used) return true;  // another thread has met the error before
  if (!used || stream.is_adopted || state.is_gone()) return false;
  if (stream.is_recorded.load(std::memory_order_relaxed))
    return true;  // its capture fails, and ends before
  bp_stream* fresh = nullptr;
  if (state.queue->create_stream(state.handle, stream.priority, &fresh) != BP_OK || !fresh)
    return false;
  try {
    const std::lock_guard lock(state.mutex);
    state.lost_streams.reserve(state.lost_streams.size() + 1);
    bp_stream* expected = used;
    if (stream.raw.compare_exchange_strong(expected, fresh)) {
      state.lost_streams.push_back(used);
      fresh = nullptr;
    }
  } catch (...) {  // no memory for the list
  }
  if (fresh) state.queue->destroy_stream(state.handle, fresh);
  return stream.raw.load() != used;
}

// The exception for a code of the plugin about `used`, the stream's `raw` when it was asked.
Error stream_error(StreamState& stream, bp_stream* used, bp_code code, std::string_view what) {
  Error error = plugin_error(*stream.record, code, what);
  if (code != BP_STREAM_LOST) return error;
  const std::uint64_t passed = last_release(stream);
  // A device's only stream cannot be replaced: the backend is asked again, and says itself whether it works.
  const bool has_another = replace_lost(stream, used);
  stream.is_lost.store(!has_another && (used || stream.is_adopted), std::memory_order_relaxed);
  stream.fault_armed.store(false, std::memory_order_relaxed);
  run_releases(stream, passed);  // nothing of it runs any more
  return error;
}

std::uint64_t told_error(StreamState& stream) {
  const std::lock_guard lock(stream.mutex);
  return stream.told_error;
}

void note_told(StreamState& stream, std::uint64_t number) {
  const std::lock_guard lock(stream.mutex);
  stream.told_error = std::max(stream.told_error, number);
}

// The first error that the streams it waited for have, and have not told it; those that are still at work are asked again
// another time.
std::optional<Error> error_of_awaited(StreamState& stream) {
  std::vector<StreamState*> asked = {&stream};
  std::optional<Error> first;
  const std::uint64_t told = told_error(stream);
  std::uint64_t last = told;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    std::vector<StreamState*> awaited;
    {
      const std::lock_guard lock(asked[i]->mutex);
      awaited = asked[i]->awaited;
    }
    for (StreamState* each : awaited) {
      if (std::find(asked.begin(), asked.end(), each) != asked.end()) continue;
      asked.push_back(each);
      const bool is_idle = is_idle_quietly(*each);
      if (std::optional<KeptError> kept = kept_error_of(*each); kept && kept->number > told) {
        last = std::max(last, kept->number);
        if (!first) first = std::move(kept->error);
      }
      if (!is_idle) continue;
      const std::lock_guard lock(stream.mutex);
      std::erase(stream.awaited, each);
    }
  }
  note_told(stream, last);
  return first;
}

// Waits; returns the first error found, that of the core's own earlier waits before a newer one.
std::optional<Error> synchronize_and_take_error(StreamState& stream) {
  DeviceRecord& record = *stream.record;
  if (!record.backend) return std::nullopt;  // meta
  if (state_of(record).is_left_behind()) throw_left_behind(record);
  if (record.lost.load(std::memory_order_relaxed)) device_record(record.device);  // which throws
  std::optional<Error> error = take_kept_error(stream);
  if (stream.is_lost.load(std::memory_order_relaxed)) return error ? error : error_of_lost(stream);
  const std::uint64_t passed = last_release(stream);
  clear_plugin_error();
  bp_stream* const used = stream.raw;
  const bp_code code = record.queue->synchronize(record.handle, used);
  if (!error) error = take_kept_error(stream);
  if (code != BP_OK) {
    Error late = stream_error(stream, used, code, late_what("synchronize", stream));
    if (!error) error = std::move(late);
  }
  run_releases(stream, passed);
  if (std::optional<Error> elsewhere = error_of_awaited(stream); !error)
    error = std::move(elsewhere);
  if (code == BP_OK) {
    std::optional<Error> fault = take_fault(stream);
    if (!error) error = std::move(fault);
  }
  if (error && !record.synchronous) error = Error(error->error_class(), error->what(), true);
  return error;
}

std::unique_ptr<StreamState> make_stream(DeviceState& state, std::int32_t priority) {
  auto stream = std::make_unique<StreamState>();
  stream->record = &state;
  stream->priority = priority;
  if (!state.queue->create_stream) return stream;
  clear_plugin_error();
  bp_stream* raw = nullptr;
  const bp_code code = state.queue->create_stream(state.handle, priority, &raw);
  if (code != BP_OK) throw_plugin_error(state, code, "create_stream");
  stream->raw = raw;
  if (!raw)
    throw_error(ErrorClass::internal,
                fmt::format("create_stream: it succeeded without a stream (plugin {}, device {})",
                            state.backend->name, state.name));
  return stream;
}

StreamState* take_idle_stream(DeviceState& state, std::int32_t priority) {
  const std::lock_guard lock(state.mutex);
  const auto found = std::find_if(state.idle_streams.begin(), state.idle_streams.end(),
                                  [&](StreamState* each) { return each->priority == priority; });
  if (found == state.idle_streams.end()) return nullptr;
  StreamState* stream = *found;
  state.idle_streams.erase(found);
  return stream;
}

StreamState* take_stream(DeviceState& state, std::int32_t priority) {
  if (StreamState* idle = take_idle_stream(state, priority)) return idle;
  std::unique_ptr<StreamState> made = make_stream(state, priority);
  StreamState* stream = made.get();
  const std::lock_guard lock(state.mutex);
  stream->id = static_cast<std::uint32_t>(state.streams.size());
  stream->refs.store(0, std::memory_order_relaxed);      // nobody finds it before its maker has it
  state.idle_streams.reserve(state.streams.size() + 1);  // so that giving back cannot fail
  state.streams.push_back(std::move(made));
  return stream;
}

StreamImpl* retain(StreamImpl& stream) {
  stream.refs.fetch_add(1, std::memory_order_relaxed);
  return &stream;
}

}  // namespace

std::vector<StreamState*> all_streams(DeviceState& state) {
  const std::lock_guard lock(state.mutex);
  std::vector<StreamState*> streams;
  for (const auto& stream : state.streams) streams.push_back(stream.get());
  return streams;
}

std::vector<StreamImpl*> busy_streams_of(DeviceRecord& record) {
  std::vector<StreamImpl*> busy;
  for (StreamState* stream : all_streams(state_of(record)))
    if (!is_idle_quietly(*stream)) busy.push_back(stream);
  return busy;
}

void forget_operator_name(const char* name) {
  for (std::uint32_t number = 0; number < max_devices; ++number) {
    DeviceRecord* record = detail::device_records[number].load(std::memory_order_acquire);
    if (!record || !record->opened.load(std::memory_order_acquire)) continue;
    DeviceState& state = state_of(*record);
    const std::lock_guard lock(state.mutex);  // the device may be closed meanwhile
    for (const auto& stream : state.streams) {
      const char* last = name;
      stream->last_operator.compare_exchange_strong(last, "a joined operator");
    }
  }
  const std::lock_guard readers(names_mutex());  // who has met the name before is done with it
}

bool try_retain(StreamImpl& stream) noexcept {
  std::uint32_t refs = stream.refs.load(std::memory_order_relaxed);
  while (refs != 0)
    if (stream.refs.compare_exchange_weak(refs, refs + 1, std::memory_order_acquire)) return true;
  return false;
}

// Its work is done before the last reference goes: who can't pin it any more relies on that.
void drop_adopted(StreamState& stream) noexcept {
  std::uint32_t refs = stream.refs.load(std::memory_order_acquire);
  do {
    if (refs == 1) wait_pinned(stream);
  } while (!stream.refs.compare_exchange_strong(refs, refs - 1, std::memory_order_acq_rel));
  if (refs == 1) let_go_of_adopted(stream);
}

void drop_stream(StreamImpl* stream) noexcept {
  if (!stream) return;
  if (state_of(*stream).is_adopted) return drop_adopted(state_of(*stream));
  if (stream->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  DeviceState& state = state_of(*stream->record);
  state.live_streams.fetch_sub(1, std::memory_order_relaxed);
  const std::lock_guard lock(state.mutex);
  state.idle_streams.push_back(&state_of(*stream));
}

void make_default_stream(DeviceState& state) {
  std::unique_ptr<StreamState> made = make_stream(state, 0);
  const std::lock_guard lock(state.mutex);
  state.default_stream = made.get();
  state.streams.push_back(std::move(made));
}

void wait_for_streams_quietly(DeviceState& state) noexcept {
  // Others only add streams meanwhile, and nothing is waited for on those.
  for (std::size_t i = 0;; ++i) {
    StreamState* stream = nullptr;
    {
      const std::lock_guard lock(state.mutex);
      if (i < state.streams.size()) stream = state.streams[i].get();
    }
    if (!stream) return;
    wait_quietly(*stream);
  }
}

void wait_quietly(StreamState& stream) noexcept {
  if (const StreamPin pin(stream); pin) wait_pinned(stream);
}

void wait_pinned(StreamState& stream) noexcept {
  DeviceRecord& record = *stream.record;
  if (!record.backend) return;
  const std::uint64_t passed = last_release(stream);
  if (is_gone(stream)) return run_releases(stream, passed);  // nothing of it runs any more
  if (stream.is_recorded.load(std::memory_order_relaxed)) return;
  clear_plugin_error();
  bp_stream* const used = stream.raw;
  const bp_code code = record.queue->synchronize(record.handle, used);
  if (code != BP_OK) keep_error(stream, used, code);
  run_releases(stream, passed);
}

bool is_idle_quietly(StreamState& stream) noexcept {
  DeviceRecord& record = *stream.record;
  if (!record.backend || record.synchronous || is_gone(stream)) return true;
  if (!record.queue->query_stream || stream.is_recorded.load(std::memory_order_relaxed))
    return false;
  const StreamPin pin(stream);
  if (!pin) return true;
  // An error comes out once, and does not say that the stream is idle: what follows it does.
  for (int asked = 0; asked < 2; ++asked) {
    clear_plugin_error();
    bp_stream* const used = stream.raw;
    const bp_code code = record.queue->query_stream(record.handle, used);
    if (code == BP_OK) return true;
    if (code == BP_RETRY) return false;
    keep_error(stream, used, code);
    if (code == BP_STREAM_LOST || is_gone(stream)) return true;
  }
  return false;
}

bool is_gone(const StreamState& stream) noexcept {
  return stream.is_lost.load(std::memory_order_relaxed) || state_of(*stream.record).is_gone();
}

void note_wait(StreamState& stream, StreamState& passed) {
  if (&stream == &passed) return;
  const std::lock_guard lock(stream.mutex);
  auto& all = stream.awaited;
  if (std::find(all.begin(), all.end(), &passed) == all.end()) all.push_back(&passed);
}

// No device knows events of another backend's.
void forget_awaited(DeviceRecord& gone) {
  for (DeviceRecord* record : gone.backend->devices) {
    if (record == &gone || !record->opened.load(std::memory_order_acquire)) continue;
    for (StreamState* stream : all_streams(state_of(*record))) {
      const std::lock_guard lock(stream->mutex);
      std::erase_if(stream->awaited,
                    [&](const StreamState* awaited) { return awaited->record == &gone; });
    }
  }
}

void throw_stream_error(StreamImpl& stream, bp_stream* used, bp_code code, std::string_view what) {
  throw stream_error(state_of(stream), used, code, what);
}

std::optional<Error> take_kept_error(StreamState& stream) {
  const std::lock_guard lock(stream.mutex);
  std::optional<KeptError> kept = std::exchange(stream.kept_error, std::nullopt);
  return kept ? std::optional(std::move(kept->error)) : std::nullopt;
}

void keep_error(StreamState& stream, Error error) {
  static std::atomic<std::uint64_t> kept_ever{0};
  const std::lock_guard lock(stream.mutex);
  if (!stream.kept_error) stream.kept_error = {std::move(error), ++kept_ever};
}

void keep_error(StreamState& stream, bp_stream* used, bp_code code) noexcept {
  try {
    keep_error(stream, stream_error(stream, used, code, late_what("synchronize", stream)));
  } catch (...) {  // no memory for the text of an error
  }
}

void synchronize_stream(StreamImpl& impl) {
  check_may_wait("synchronize", *impl.record);
  if (std::optional<Error> error = synchronize_and_take_error(state_of(impl))) throw Error(*error);
}

bool query_stream(StreamImpl& impl) {
  check_may_wait("query", *impl.record);
  StreamState& stream = state_of(impl);
  DeviceRecord& record = *stream.record;
  if (!record.backend) return true;
  if (state_of(record).is_left_behind()) throw_left_behind(record);
  if (record.synchronous || !record.queue->query_stream) {
    synchronize_stream(impl);
    return true;
  }
  if (std::optional<Error> error = take_kept_error(stream)) throw Error(*error);
  if (is_gone(stream)) {
    synchronize_stream(impl);
    return true;
  }
  clear_plugin_error();
  bp_stream* const used = stream.raw;
  const bp_code code = record.queue->query_stream(record.handle, used);
  if (code == BP_RETRY) return false;
  if (code != BP_OK) throw_stream_error(impl, used, code, late_what("query", stream));
  // Idle: what synchronize does besides waiting is due.
  synchronize_stream(impl);
  return true;
}

void synchronize(Device device) {
  check_may_wait("synchronize", device_record(device));
  std::optional<Error> first;
  for (StreamState* stream : all_streams(state_of(device_record(device)))) {
    const StreamPin pin(*stream);
    if (!pin || (stream->is_lost.load(std::memory_order_relaxed) && !kept_error_of(*stream)))
      continue;
    std::optional<Error> error = synchronize_and_take_error(*stream);
    if (error && !first) first = std::move(error);
  }
  if (first) throw Error(*first);
}

void copy_region(DeviceRecord& record, const bp_region& to, const bp_region& from,
                 std::uint32_t direction, StreamImpl& stream) {
  check_may_copy(record, direction);
  clear_plugin_error();
  bp_stream* const used = stream.raw;
  const bp_code code = record.memory->copy(record.handle, &to, &from, direction, used);
  if (code != BP_OK) [[unlikely]]
    throw_stream_error(stream, used, code, "copy");
  if (!record.synchronous) stream.last_operator.store("copy", std::memory_order_relaxed);
  if (direction == BP_COPY_TO_HOST) record.to_host.add(to.bytes);
  if (direction == BP_COPY_FROM_HOST) record.from_host.add(to.bytes);
}

Stream::Stream(Device device, std::int32_t priority) {
  DeviceState& state = state_of(device_record(device));
  if (!state.backend || !state.queue->create_stream) {
    impl_ = retain(*state.default_stream);
    return;
  }
  impl_ = take_stream(state, priority);
  impl_->refs.store(1, std::memory_order_relaxed);
  state.live_streams.fetch_add(1, std::memory_order_relaxed);
}

Stream::Stream(const Stream& other) : impl_(other.impl_ ? retain(*other.impl_) : nullptr) {}
Stream::Stream(Stream&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
Stream& Stream::operator=(Stream other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}
Stream::~Stream() {
  drop_stream(impl_);
}

Stream Stream::current(Device device) {
  Stream stream;
  stream.impl_ = retain(current_stream_impl(device_record(device)));
  return stream;
}

Stream Stream::default_of(Device device) {
  Stream stream;
  stream.impl_ = retain(*device_record(device).default_stream);
  return stream;
}

Stream Stream::numbered(Device device, std::uint32_t number) {
  DeviceState& state = state_of(device_record(device));
  Stream stream;
  {
    const std::lock_guard lock(state.mutex);
    if (number < state.streams.size() && try_retain(*state.streams[number]))
      stream.impl_ = state.streams[number].get();
  }
  BP_CHECK(stream.impl_, "stream {} of {} is not in use; make one, and keep it while you name it",
           number, state.name);
  return stream;
}

Device Stream::device() const {
  return impl_->record->device;
}
std::uint32_t Stream::number() const {
  return impl_->id;
}
bool Stream::query() const {
  return query_stream(*impl_);
}
void Stream::synchronize() const {
  synchronize_stream(*impl_);
}

StreamGuard::StreamGuard(const Stream& stream) : stream_(stream) {
  StreamImpl*& current = thread_state().streams[stream_.device().number];
  before_ = current;
  current = stream_.impl();
}

StreamGuard::~StreamGuard() {
  thread_state().streams[stream_.device().number] = before_;
}

}  // namespace bp
