#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include <backplane/runtime/capturing.hpp>
#include <backplane/runtime/semaphore.hpp>
#include <backplane/tensor/check.hpp>

#include "constants.hpp"
#include "devices/device_state.hpp"

namespace bp {

// Lives until the last stream has passed what it was given with it.
struct SemaphoreState {
  explicit SemaphoreState(DeviceRecord& on) : record(on) {
    state_of(record).live_semaphores.fetch_add(1, std::memory_order_relaxed);
  }
  ~SemaphoreState();
  SemaphoreState(const SemaphoreState&) = delete;
  SemaphoreState& operator=(const SemaphoreState&) = delete;

  DeviceRecord& record;
  bp_semaphores api{};
  bp_semaphore* raw = nullptr;  // null: the host waits
  std::uint64_t own_number = 0;
  std::uint64_t* number = nullptr;   // then, or of one that the core has made for the plugin
  CoreMutex mutex;                   // guards what follows
  std::vector<StreamImpl*> streams;  // that have got work with it
};

SemaphoreState::~SemaphoreState() {
  DeviceState& device = state_of(record);
  if (raw && !device.is_left_behind()) api.release(record.handle, raw);
  device.live_semaphores.fetch_sub(1, std::memory_order_relaxed);
}

namespace {

using StateRef = std::shared_ptr<SemaphoreState>;

StateRef new_state(Device device) {
  auto state = std::make_shared<SemaphoreState>(device_record(device));
  state->api = extensions_of(state->record).semaphores;
  return state;
}

// The plugin's own name for the kind, the first for none; null if it has no such kind.
const char* find_kind(const bp_semaphores& api, std::string_view asked) {
  for (const char* const* each = api.kinds; each && *each; ++each)
    if (asked.empty() || asked == *each) return *each;
  return nullptr;
}

[[noreturn]] void throw_unknown(const SemaphoreState& state, std::string_view asked) {
  std::string known = BP_SEMAPHORE_HOST;
  for (const char* const* each = state.api.kinds; each && *each; ++each)
    if (std::string_view(*each) != BP_SEMAPHORE_HOST) known += std::string(", ") + *each;
  throw_error(ErrorClass::unsupported,
              fmt::format("semaphore: {} has no semaphores of kind '{}'; there is {}",
                          state.record.name, asked, known));
}

void check(SemaphoreState& state, bp_code code, const char* what) {
  if (code != BP_OK) throw_plugin_error(state.record, code, what);
}

void take(SemaphoreState& state, const char* kind, std::uint64_t value) {
  const bp_native given{kind, value};
  clear_plugin_error();
  check(state, state.api.take(state.record.handle, &given, &state.raw), "semaphore");
}

// Of a number that the core keeps, or waits for itself.
std::uint64_t address_of(const SemaphoreState& state) {
  return reinterpret_cast<std::uint64_t>(state.number);
}

void drop_ref(void* ref) {
  delete static_cast<StateRef*>(ref);
}

// Before the stream is given work with it.
void note_stream(SemaphoreState& state, StreamImpl& stream) {
  const std::lock_guard lock(state.mutex);
  auto& all = state.streams;
  if (std::find(all.begin(), all.end(), &stream) == all.end()) all.push_back(&stream);
}

void check_use(const char* what, const SemaphoreState& state, const StreamImpl& stream) {
  BP_CHECK(stream.record == &state.record,
           "{}: the semaphore belongs to {} and the stream to {}; import it on that device too",
           what, state.record.name, stream.record->name);
  check_outside_capture(what, stream, "a semaphore", "use it before, or around the replay");
}

void wait_on_host(const SemaphoreState& state, std::uint64_t value) {
  // Whoever raises it tells nobody.
  const std::atomic_ref<std::uint64_t> number(*state.number);
  while (number.load(std::memory_order_acquire) < value)
    std::this_thread::sleep_for(std::chrono::microseconds(constants::semaphore_look_us));
}

void raise_on_host(const SemaphoreState& state, std::uint64_t value) {
  std::atomic_ref<std::uint64_t> number(*state.number);
  std::uint64_t seen = number.load();
  while (seen < value && !number.compare_exchange_weak(seen, value)) {
  }
}

}  // namespace

Semaphore::Semaphore(Device device) : state_(new_state(device)) {
  SemaphoreState& state = *state_;
  if (!state.api.create) {
    state.number = &state.own_number;
    if (find_kind(state.api, BP_SEMAPHORE_HOST)) take(state, BP_SEMAPHORE_HOST, address_of(state));
    return;
  }
  clear_plugin_error();
  check(state, state.api.create(state.record.handle, &state.raw), "semaphore");
}

Semaphore::Semaphore(Device device, const NativeHandle& native) : state_(new_state(device)) {
  SemaphoreState& state = *state_;
  if (const char* kind = find_kind(state.api, native.kind)) {
    take(state, kind, native.value);
    return;
  }
  if (native.kind != BP_SEMAPHORE_HOST) throw_unknown(state, native.kind);
  state.number = reinterpret_cast<std::uint64_t*>(native.value);
  BP_CHECK(state.number && native.value % sizeof(std::uint64_t) == 0,
           "semaphore: address {:#x}; give that of 8 bytes, aligned to 8", native.value);
}

Semaphore::Semaphore(Semaphore&& other) noexcept = default;

Semaphore::~Semaphore() {
  if (!state_) return;
  std::vector<StreamImpl*> streams;
  {
    const std::lock_guard lock(state_->mutex);
    streams = state_->streams;
  }
  for (StreamImpl* stream : streams) release_after(*stream, drop_ref, new StateRef(state_));
}

void Semaphore::wait(const Stream& stream, std::uint64_t value) const {
  SemaphoreState& state = *state_;
  StreamImpl& impl = *stream.impl();
  check_use("wait", state, impl);
  if (!state.raw) return wait_on_host(state, value);
  note_stream(state, impl);
  clear_plugin_error();
  bp_stream* const used = impl.raw;
  const bp_code code = state.api.wait(state.record.handle, used, state.raw, value);
  if (code != BP_OK) throw_stream_error(impl, used, code, "wait");
}

void Semaphore::signal(const Stream& stream, std::uint64_t value) const {
  SemaphoreState& state = *state_;
  StreamImpl& impl = *stream.impl();
  check_use("signal", state, impl);
  if (!state.raw) {
    wait_quietly(state_of(impl));
    return raise_on_host(state, value);
  }
  note_stream(state, impl);
  clear_plugin_error();
  bp_stream* const used = impl.raw;
  const bp_code code = state.api.signal(state.record.handle, used, state.raw, value);
  if (code != BP_OK) throw_stream_error(impl, used, code, "signal");
}

NativeHandle Semaphore::native(std::string_view kind) const {
  SemaphoreState& state = *state_;
  if (state.number) {
    if (!kind.empty() && kind != BP_SEMAPHORE_HOST) throw_unknown(state, kind);
    return {BP_SEMAPHORE_HOST, address_of(state)};
  }
  const char* known = find_kind(state.api, kind);
  if (!known || !state.api.give) throw_unknown(state, kind);
  bp_native out{known, 0};
  clear_plugin_error();
  check(state, state.api.give(state.record.handle, state.raw, &out), "semaphore");
  return {known, out.value};
}

}  // namespace bp
