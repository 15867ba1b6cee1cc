// The backends and devices of this process, numbered at run time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/abi.h>
#include <backplane/runtime/thread_state.hpp>
#include <backplane/tensor/api.hpp>
#include <backplane/tensor/device.hpp>
#include <backplane/tensor/error.hpp>

namespace bp {

class CachingAllocator;
struct DeviceRecord;

// A plugin's registered driver of one kind of device. Lives until it is unregistered; the number is
// then free for another.
struct Backend {
  std::uint16_t number = 0;
  std::string name;  // that of its devices; qualified as "vendor:name" when another had it first
  std::string vendor, version, path;
  const bp_plugin* plugin = nullptr;
  const bp_host* host = nullptr;
  std::vector<DeviceRecord*> devices;
  std::atomic<std::uint32_t> num_foreign{0};  // works out that wait for another process (quiet.hpp)
  // Called once, when nothing of it exists any more and the devices are about to be closed, to free
  // what others keep for it (generated kernels).
  std::vector<void (*)(Backend& backend)> closing;
  // The same before that for each device, which may also be opened again: what was compiled for it, or planned.
  std::vector<void (*)(Backend& backend, DeviceRecord& record)> closing_device;
};

// Add to `closing` and `closing_device`. A function that is added twice is called once. Threads:
// any.
BP_API void hear_of_closing(Backend& backend, void (*closing)(Backend& backend));
BP_API void hear_of_closing(Backend& backend,
                            void (*closing)(Backend& backend, DeviceRecord& record));

// How often and how much, since the process began.
struct CopyCounter {
  std::atomic<std::uint64_t> copies{0}, bytes{0};
  void add(std::uint64_t more) {
    copies.fetch_add(1, std::memory_order_relaxed);
    bytes.fetch_add(more, std::memory_order_relaxed);
  }
};

// One device. All fields but the atomics are constant after open_device.
struct DeviceRecord {
  Device device;
  Backend* backend = nullptr;  // null for meta
  std::uint32_t index = 0;     // the plugin's
  std::uint16_t backend_number = 0;
  std::string name;             // "acme:0"
  bp_device* handle = nullptr;  // null until it is first used
  bp_device_info info{};
  const bp_memory* memory = nullptr;
  const bp_queue* queue = nullptr;
  CachingAllocator* allocator = nullptr;
  StreamImpl* default_stream = nullptr;
  bool synchronous = true;
  bool host_readable = false;
  std::atomic<bool> opened{false};  // and neither lost nor left behind by a fork
  std::atomic<bool> lost{false};
  // Counts what exists on the device, for unloading. Storages of the allocator are counted there.
  std::atomic<std::int64_t> live_blobs{0}, live_streams{0}, live_events{0};
  // Running compilers, which may have been given up on but cannot be stopped.
  std::atomic<std::int64_t> live_builds{0};
  // Of this device: to and from host memory, and from other devices without the host in between.
  CopyCounter to_host, from_host, from_peers;
};

namespace detail {
extern BP_API std::atomic<DeviceRecord*> device_records[max_devices];
BP_API DeviceRecord& open_device(Device device);
}  // namespace detail

// The record of a device that is in use, opening it first if need be. Throws bad_argument for a
// number that is not (or no longer) registered, device_lost or what the plugin said if it won't open.
inline DeviceRecord& device_record(Device device) {
  if (device.number < max_devices) [[likely]] {
    DeviceRecord* record = detail::device_records[device.number].load(std::memory_order_acquire);
    if (record && record->opened.load(std::memory_order_acquire)) [[likely]]
      return *record;
  }
  return detail::open_device(device);
}

// Registers a plugin's backend and its devices (not opened yet). Checks every answer of the plugin;
// throws unsupported when it says that it has no device here, and what the plugin said when it fails. One without
// `devices` and all that belongs to them is a backend with extensions alone. The caller has
// called `init` before, and calls `shutdown` after unregister_backend.
// `complete` gives the backend what it needs besides, such as its kernels, before anybody can find it by name or in a
// list: a device that another thread finds is whole. What it throws comes out, and nothing is registered then.
// Threads: any.
BP_API Backend& register_backend(const bp_plugin& plugin, const bp_host& host, std::string path,
                                 const std::function<void(Backend&)>& complete = {});

// How many storages of the device are held by tensors now.
BP_API std::int64_t num_live_storages(Device device);

// Quiesces the plugin, closes the devices and forgets the backend. Throws retry, naming what still
// exists (tensors, streams, events), and changes nothing then. Threads: any; no call on its devices
// may be running.
BP_API void unregister_backend(Backend& backend);

// Closes a device, so that its next use opens it again: after it was lost, once its driver has it back. Throws retry,
// naming what still exists on it, and then changes nothing. Threads: any; no call on it may be running.
BP_API void reset_device(Device device);

// Device by name: "acme:0", "acme" for its first device, "vendor:acme:0", "meta". Empty if unknown:
// loading missing plugins is the loader's part (loading/loader.hpp).
BP_API const DeviceRecord* find_device(std::string_view name);
BP_API std::string device_name(Device device);
// All devices, and all backends, in the order of registration.
BP_API std::vector<const DeviceRecord*> registered_devices();
BP_API std::vector<Backend*> registered_backends();
BP_API Backend* find_backend(std::string_view name);

// Turns a plugin's code into an exception, with the thread's error record, device and `what` (the
// operator or action). Never returns. Marks the device as lost for BP_DEVICE_LOST.
[[noreturn]] BP_API void throw_plugin_error(DeviceRecord& record, bp_code code,
                                            std::string_view what);
// The same exception, not thrown.
BP_API Error plugin_error(DeviceRecord& record, bp_code code, std::string_view what);

// Forgets what a plugin said before, so that a later message is the next call's. Before each call
// of a plugin whose error will be shown.
inline void clear_plugin_error() {
  ThreadState& state = thread_state();
  if (state.error_code == BP_OK) [[likely]]
    return;
  state.error_code = BP_OK;
  state.error_call = 0;
  state.error_message.clear();
}

}  // namespace bp
