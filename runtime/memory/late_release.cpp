// What happens once a stream has passed a point: releases of memory, and the fault word.
#include <algorithm>
#include <mutex>
#include <utility>

#include <backplane/runtime/allocator.hpp>
#include <backplane/tensor/check.hpp>

#include "devices/device_state.hpp"
#include "memory/caching_allocator.hpp"

namespace bp {
namespace {

constexpr std::uint64_t fault_bytes = 8;
const std::uint64_t zero_word = 0;  // outlives every copy from it

bp_region host_region(const void* ptr) {
  return {reinterpret_cast<bp_handle>(ptr), 0, fault_bytes};
}

void write_zero(StreamState& stream, const bp_region& word) {
  DeviceRecord& record = *stream.record;
  if (!record.memory->fill)
    return copy_region(record, word, host_region(&zero_word), BP_COPY_FROM_HOST, stream);
  clear_plugin_error();
  bp_stream* const used = stream.raw;
  const bp_code code = record.memory->fill(record.handle, &word, &zero_word, 1, used);
  if (code != BP_OK) throw_stream_error(stream, used, code, "fill");
}

void make_fault(StreamState& stream) {
  Storage* storage = state_of(*stream.record).allocator->allocate_for_core(stream, fault_bytes);
  const bp_region word{storage->handle, storage->offset, fault_bytes};
  try {
    write_zero(stream, word);
  } catch (...) {
    storage->drop();
    throw;
  }
  {
    const std::lock_guard lock(stream.mutex);
    if (!stream.fault_storage) {
      stream.fault = word;
      stream.fault_storage = std::exchange(storage, nullptr);
    }
  }
  if (storage) storage->drop();  // another thread was first
}

std::string join_operators(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& each : names) text += (text.empty() ? "" : " or ") + each;
  return text.empty() ? "synchronize" : text;
}

}  // namespace

bp_region& arm_fault(StreamImpl& impl, const char* operator_name) {
  StreamState& stream = state_of(impl);
  bool made = false;
  {
    const std::lock_guard lock(stream.mutex);
    made = stream.fault_storage != nullptr;
  }
  if (!made) make_fault(stream);
  const std::lock_guard lock(stream.mutex);
  auto& names = stream.fault_operators;
  if (operator_name && std::find(names.begin(), names.end(), operator_name) == names.end())
    names.emplace_back(operator_name);
  stream.fault_armed.store(true, std::memory_order_relaxed);
  return stream.fault;
}

std::optional<Error> take_fault(StreamState& stream) {
  if (!stream.fault_armed.exchange(false, std::memory_order_relaxed)) return std::nullopt;
  DeviceRecord& record = *stream.record;
  std::vector<std::string> names;
  {
    const std::lock_guard lock(stream.mutex);
    names.swap(stream.fault_operators);
  }
  std::uint64_t word = 0;
  try {
    copy_region(record, host_region(&word), stream.fault, BP_COPY_TO_HOST, stream);
    clear_plugin_error();
    const bp_code code = record.queue->synchronize(record.handle, stream.raw);
    if (code != BP_OK) return plugin_error(record, code, "synchronize");
    if (word == 0) return std::nullopt;
    write_zero(stream, stream.fault);
  } catch (const Error& error) {
    return error;
  }
  return Error(
      ErrorClass::bad_argument,
      fmt::format("{}: index out of range (device {}); what was computed from it since the "
                  "last synchronize is undefined",
                  join_operators(names), record.name),
      !record.synchronous);
}

void drop_fault(StreamState& stream) noexcept {
  if (Storage* storage = std::exchange(stream.fault_storage, nullptr)) storage->drop();
}

void release_after(StreamImpl& impl, void (*release)(void*), void* context) {
  StreamState& stream = state_of(impl);
  DeviceRecord& record = *stream.record;
  if (!record.backend || record.synchronous || is_gone(stream)) return release(context);
  const StreamPin pin(stream);
  if (!pin) return release(context);
  // An event given now would be part of the recording.
  const bool is_recorded = stream.is_recorded.load(std::memory_order_relaxed);
  bp_event* event = is_recorded ? nullptr : take_event(state_of(record));
  if (event && record.queue->record_event(record.handle, event, stream.raw) != BP_OK) {
    give_event(state_of(record), std::exchange(event, nullptr));
  }
  try {
    const std::lock_guard lock(stream.mutex);
    stream.releases.push_back({event, release, context, stream.num_releases + 1});
    ++stream.num_releases;
    stream.has_releases.store(true, std::memory_order_relaxed);
    return;
  } catch (...) {  // no memory for the list: wait instead
  }
  if (event) give_event(state_of(record), event);
  wait_quietly(stream);
  release(context);
}

// Of a stream that has passed everything up to `passed`, or whose event says so.
bool has_passed(DeviceState& device, StreamState& stream, const WaitingRelease& next,
                std::uint64_t passed) {
  if (next.order <= passed) return true;
  return next.event && is_reached_quietly(device, next.event, stream);
}

bool put_back(StreamState& stream, const WaitingRelease& next) {
  try {
    const std::lock_guard lock(stream.mutex);
    stream.releases.push_front(next);
    stream.has_releases.store(true, std::memory_order_relaxed);
    return true;
  } catch (...) {  // no memory for the list
    return false;
  }
}

namespace {

constinit thread_local int release_depth = 0;

void run_due_releases(StreamState& stream, std::uint64_t passed) noexcept {
  DeviceState& device = state_of(*stream.record);
  // One at a time, taken out before it is run: a release may itself come back to this stream.
  for (;;) {
    WaitingRelease next;
    {
      const std::lock_guard lock(stream.mutex);
      if (stream.releases.empty()) return;
      next = stream.releases.front();
      stream.releases.pop_front();
      stream.has_releases.store(!stream.releases.empty(), std::memory_order_relaxed);
    }
    if (!has_passed(device, stream, next, passed)) {
      if (put_back(stream, next)) return;
      if (!is_gone(stream)) device.queue->synchronize(device.handle, stream.raw);
    }
    if (next.event) give_event(device, next.event);
    next.release(next.context);
  }
}

}  // namespace

bool runs_releases() noexcept {
  return release_depth != 0;
}

void run_releases(StreamState& stream, std::uint64_t passed) noexcept {
  ++release_depth;
  run_due_releases(stream, passed);
  --release_depth;
}

std::uint64_t last_release(StreamState& stream) {
  const std::lock_guard lock(stream.mutex);
  return stream.num_releases;
}

}  // namespace bp
