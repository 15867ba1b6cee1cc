// Streams and events: order and completion of work on a device.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <backplane/runtime/device_registry.hpp>

namespace bp {

struct NativeHandle;

// A stream as the core keeps it. `raw` is null for a device's only stream; it changes when the backend has lost the
// stream and another takes its place.
struct StreamImpl {
  DeviceRecord* record = nullptr;
  std::atomic<bp_stream*> raw{nullptr};
  std::uint32_t id = 0;  // unique within the device; 0 is the default stream
  std::int32_t priority = 0;
  std::atomic<std::uint32_t> refs{1};
  // The operator last given to it, for errors that come out later: its name, until forget_operator_name.
  std::atomic<const char*> last_operator{nullptr};
  std::atomic<std::uint64_t> num_calls{0};  // given to it so far, for their numbers
  // Device word for BP_KERNEL_MAY_FAULT kernels: made when first needed, read by synchronize.
  bp_region fault{};
  std::atomic<bool> fault_armed{false};  // since the last synchronize
};

inline StreamImpl& current_stream_impl(DeviceRecord& record) {
  StreamImpl* stream = thread_state().streams[record.device.number];
  return stream ? *stream : *record.default_stream;
}

// A queue of a device: work given to it runs in order. Only an Event orders two of them; memory that both used waits
// for both before another tensor gets it. On a backend without streams every Stream of a device is the same.
class BP_API Stream {
  friend Stream adopt_stream(Device device, const NativeHandle& queue);

 public:
  // A new one from the device's pool. Throws what the plugin says.
  explicit Stream(Device device, std::int32_t priority = 0);
  Stream(const Stream& other);
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream other) noexcept;
  ~Stream();
  static Stream current(Device device);
  static Stream default_of(Device device);
  // The one that has this number; 0 is the default one's. Throws bad_argument if no stream in use has it.
  static Stream numbered(Device device, std::uint32_t number);

  Device device() const;
  // Among the device's streams; given again once the stream is gone.
  std::uint32_t number() const;
  // True if all its work is done; throws the first error of that work, once.
  bool query() const;
  // Waits for all its work; throws the first error of that work, once, with the operator's name. An error of a stream
  // whose event it waited for is thrown too, and stays with that stream as well.
  void synchronize() const;
  StreamImpl* impl() const { return impl_; }

 private:
  Stream() = default;
  StreamImpl* impl_ = nullptr;
};

// A point in a stream's work.
class BP_API Event {
  friend NativeHandle native_handle(const Event& event, std::string_view kind);

 public:
  explicit Event(Device device);
  Event(Event&& other) noexcept;
  ~Event();
  void record(const Stream& stream);
  // Later work of `stream` waits for the point; the caller does not.
  void wait(const Stream& stream) const;
  bool query() const;
  void synchronize() const;
  // Milliseconds between two reached events of one device; throws unsupported if it has no clock.
  double elapsed_ms(const Event& end) const;

 private:
  DeviceRecord* record_ = nullptr;
  bp_event* raw_ = nullptr;
  StreamImpl* recorded_on_ = nullptr;
};

// Makes a stream this thread's current one while it lives.
class BP_API StreamGuard {
 public:
  explicit StreamGuard(const Stream& stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  Stream stream_;
  StreamImpl* before_;
};

// Waits for all of the core's streams on the device, then throws the first error found.
BP_API void synchronize(Device device);
// Turns the code of a plugin that was given work for `used`, which was the stream's `raw`, into an exception, as
// throw_plugin_error does. A stream that is lost is replaced on the way: what it was given is undefined, and the next
// call works. One of the application's stays lost; a device's only one is asked again, and says itself whether it works.
[[noreturn]] BP_API void throw_stream_error(StreamImpl& stream, bp_stream* used, bp_code code,
                                            std::string_view what);

// As Stream::synchronize and Stream::query.
BP_API void synchronize_stream(StreamImpl& stream);
BP_API bool query_stream(StreamImpl& stream);

// The fault word of a stream, for a kernel of `operator_name` that is about to be given to it; made and zeroed when first
// needed. The next synchronize of the stream reads it: a nonzero word is a bad_argument error there, naming the operators
// that could have written it.
BP_API bp_region& arm_fault(StreamImpl& stream, const char* operator_name = nullptr);

// A copy on the current stream of the device; the regions as in bp_memory. Host memory must live
// until the stream has passed. Throws what the plugin says.
BP_API void copy_region(DeviceRecord& record, const bp_region& to, const bp_region& from,
                        std::uint32_t direction, StreamImpl& stream);

// Runs `release(context)`, which must not throw, once the stream has passed its present end: at once
// on a synchronous device, else when the core next polls (allocation, synchronize).
BP_API void release_after(StreamImpl& stream, void (*release)(void*), void* context);
// Is this thread within such a release? The core may hold any of its locks then.
BP_API bool runs_releases() noexcept;

// Those of the device that may be at work now. They stay until it closes.
BP_API std::vector<StreamImpl*> busy_streams_of(DeviceRecord& record);

// The operator of this name is about to be freed, and the string with it: no stream names it any more.
BP_API void forget_operator_name(const char* name);

}  // namespace bp
