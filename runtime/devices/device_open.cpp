// The first use of a device, and its end.
#include <mutex>

#include <backplane/runtime/plugin_steps.hpp>
#include <backplane/tensor/check.hpp>

#include "devices/device_state.hpp"
#include "interop/interop_table.hpp"
#include "memory/caching_allocator.hpp"
#include "memory/spaces.hpp"

namespace bp {
namespace {

[[noreturn]] void throw_lost(DeviceState& state) {
  std::string because;
  {
    const std::lock_guard lock(state.mutex);
    because = state.lost_because;
  }
  throw_error(ErrorClass::device_lost,
              fmt::format("{}: is lost since an earlier error ({}); use another device, or drop "
                          "everything on it and call reset_device()",
                          state.name, because));
}

void open_plugin_device(DeviceState& state) {
  bp_device* handle = nullptr;
  at_plugin_step("bp_plugin.open");
  const bp_code code = open_in_plugin(state, &handle);
  if (code != BP_OK) throw_plugin_error(state, code, "open");
  if (!handle)
    throw_error(ErrorClass::internal,
                fmt::format("open: it succeeded without a device (plugin {}, device {})",
                            state.backend->name, state.name));
  state.handle = handle;
}

void forget_streams(DeviceState& state) {
  std::vector<std::unique_ptr<StreamState>> gone;  // at the end, when no lock is held
  const std::lock_guard lock(state.mutex);
  gone.swap(state.streams);
  state.lost_streams.clear();
  state.idle_events.clear();
  state.idle_streams.clear();
  state.former_adopted.clear();
  state.default_stream = nullptr;
}

void open_alone(DeviceState& state) {
  open_plugin_device(state);
  at_plugin_step("bp_queue.create_stream");
  try {
    make_default_stream(state);
    state.allocator = new CachingAllocator(state);
    open_spaces(state);
  } catch (...) {
    state.spaces.clear();
    delete std::exchange(state.allocator, nullptr);
    forget_streams(state);
    at_plugin_step("bp_plugin.close");
    state.backend->plugin->close(std::exchange(state.handle, nullptr));
    throw;
  }
}

void end_opening(DeviceState& state, Phase phase) {
  if (phase == Phase::open) state.opened.store(true, std::memory_order_release);
  state.phase.store(phase, std::memory_order_release);
  state.phase.notify_all();
}

void keep_failure(DeviceState& state, const Error& error) {
  const std::lock_guard lock(state.mutex);
  state.failure = error;
}

// Opens the device or waits for the thread that does; that thread's error is ours as well.
void wait_for_opening(DeviceState& state) {
  if (state.opener.load(std::memory_order_relaxed) == thread_tag())
    throw_error(ErrorClass::internal,
                fmt::format("open: the plugin asked for {} while opening it", state.name));
  state.phase.wait(Phase::opening, std::memory_order_acquire);
  if (state.phase.load(std::memory_order_acquire) != Phase::closed) return;
  const std::lock_guard lock(state.mutex);
  if (state.failure) throw Error(*state.failure);
}

void open_now(DeviceState& state) {
  state.opener.store(thread_tag(), std::memory_order_relaxed);
  try {
    open_alone(state);
  } catch (const Error& error) {
    keep_failure(state, error);
    end_opening(state, Phase::closed);
    throw;
  } catch (...) {
    end_opening(state, Phase::closed);
    throw;
  }
  end_opening(state, Phase::open);
}

}  // namespace

void throw_left_behind(const DeviceRecord& record) {
  throw_error(
      ErrorClass::device_lost,
      fmt::format("{}: was opened before fork(), and this is the child; exec, or use devices "
                  "first opened after fork",
                  record.name));
}

namespace detail {

DeviceRecord& open_device(Device device) {
  DeviceState& state = registered_state(device);
  for (;;) {
    Phase phase = state.phase.load(std::memory_order_acquire);
    if (state.lost.load(std::memory_order_acquire)) throw_lost(state);
    if (phase == Phase::open) return state;
    if (phase == Phase::left_behind) throw_left_behind(state);
    if (phase == Phase::opening) {
      wait_for_opening(state);
    } else if (state.phase.compare_exchange_strong(phase, Phase::opening)) {
      open_now(state);
    }
  }
}

}  // namespace detail

std::string what_lives(DeviceState& state) {
  if (!state.handle) return {};
  std::string text;
  const auto add = [&](std::int64_t count, const char* one, const char* many) {
    if (count <= 0) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, count == 1 ? one : many);
  };
  add(num_live_storages(state.device), "tensor's storage", "tensors' storages");
  // The device itself holds the default stream once.
  add(state.live_streams + state.default_stream->refs - 1, "stream", "streams");
  add(state.live_events, "event", "events");
  add(state.live_graphs, "graph", "graphs");
  add(state.live_semaphores, "semaphore", "semaphores");
  add(state.live_builds, "unfinished build", "unfinished builds");
  return text;
}

void close_device(DeviceState& state) noexcept {
  if (!state.handle) return;
  const bool may_call = !state.is_left_behind();
  at_plugin_step("bp_queue.synchronize");
  if (may_call) wait_for_streams_quietly(state);
  at_plugin_step("bp_memory.release");
  for (const auto& stream : state.streams) drop_fault(*stream);
  forget_awaited(state);
  state.spaces.clear();
  delete std::exchange(state.allocator, nullptr);
  if (may_call) {
    at_plugin_step("bp_queue.destroy_stream");
    for (bp_event* event : state.idle_events) state.queue->destroy_event(state.handle, event);
    for (const auto& stream : state.streams)
      if (stream->raw) state.queue->destroy_stream(state.handle, stream->raw);
    for (bp_stream* lost : state.lost_streams) state.queue->destroy_stream(state.handle, lost);
    at_plugin_step("bp_plugin.close");
    state.backend->plugin->close(state.handle);
  }
  forget_streams(state);
  state.handle = nullptr;
  state.opened = false;
  state.phase = Phase::closed;
}

}  // namespace bp
