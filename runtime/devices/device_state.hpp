// What the core knows of a device and a backend besides the public part.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <backplane/runtime/device_registry.hpp>
#include <backplane/runtime/extensions.hpp>

#include "devices/core_mutex.hpp"
#include "streams/stream_state.hpp"

namespace bp {

enum class Phase : std::uint32_t {
  closed,   // never used, or the last opening failed
  opening,  // by one thread; others wait
  open,
  left_behind,  // opened before a fork, and cannot follow into the child
};

// A handle of the application's that a device is opened with; the name is the plugin's.
struct AdoptedHandle {
  const char* kind;
  std::uint64_t value;
};

// One of a device's memories besides the main one, as it was described when the device was opened.
struct SpaceState {
  std::uint32_t index = 0;
  std::string name;
  bool host_visible = false;
  std::uint64_t total_bytes = 0;  // 0: unknown
  std::unique_ptr<CachingAllocator> allocator;

  SpaceState();
  ~SpaceState();
};

struct DeviceState : DeviceRecord {
  std::atomic<Phase> phase{Phase::closed};
  std::atomic<std::uint64_t> opener{0};  // thread_tag() while opening
  std::atomic<std::int64_t> live_graphs{0}, live_semaphores{0};
  std::vector<std::unique_ptr<SpaceState>> spaces;  // from space 1 on; constant while it is open

  CoreMutex mutex;               // guards what follows
  std::optional<Error> failure;  // of the last opening
  std::string lost_because;
  std::vector<std::unique_ptr<StreamState>> streams;  // all that were ever made, the default first
  std::vector<StreamState*> idle_streams;             // of these: nobody holds them
  std::vector<bp_stream*>
      lost_streams;  // replaced, and destroyed with the device: others may just be using them
  std::vector<bp_event*> idle_events;
  std::vector<StreamState*> former_adopted;  // of `streams`: the application has its queue back
  std::vector<AdoptedHandle> adopted;        // to be opened with

  // No function of the plugin may be called any more.
  bool is_left_behind() const {
    return phase.load(std::memory_order_relaxed) == Phase::left_behind;
  }
  // There is nothing to wait for any more.
  bool is_gone() const { return is_left_behind() || lost.load(std::memory_order_relaxed); }
};

struct BackendState : Backend {
  bp_memory memory_table{};  // full-size copies: what an older plugin lacks is NULL
  bp_queue queue_table{};
  Extensions extensions;
  std::string own_name;  // the plugin's, which `name` may qualify
  bool shown = false;    // may others find it? Under the registry's lock
  std::vector<std::unique_ptr<DeviceState>> states;
};

inline DeviceState& state_of(DeviceRecord& record) {
  return static_cast<DeviceState&>(record);
}

// The state of a registered device; throws bad_argument naming the number otherwise.
DeviceState& registered_state(Device device);

// Closes an open device: frees what the core holds on it, then calls the plugin's close. Nothing of
// the application's lives on it.
void close_device(DeviceState& state) noexcept;

// What lives on the device, as in "3 tensors' storages and 1 stream"; empty if nothing does.
std::string what_lives(DeviceState& state);

// Throws the error of a device that fork() has left behind.
[[noreturn]] void throw_left_behind(const DeviceRecord& record);

// An event of the device's pool; null if the backend has none or cannot make one now.
bp_event* take_event(DeviceState& state) noexcept;
void give_event(DeviceState& state, bp_event* event) noexcept;

// Has it been reached? An error is kept for `stream` and counts as reached.
bool is_reached_quietly(DeviceState& state, bp_event* event, StreamState& stream) noexcept;

// Makes the default stream of a device that is being opened; throws what the plugin says.
void make_default_stream(DeviceState& state);
// All that were ever made; they live as long as the device is open.
std::vector<StreamState*> all_streams(DeviceState& state);
// Waits for every stream of the device, without throwing.
void wait_for_streams_quietly(DeviceState& state) noexcept;

}  // namespace bp
