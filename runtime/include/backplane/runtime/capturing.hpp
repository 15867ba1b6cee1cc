// A thread that captures a stream's work, as the runtime sees it (capture/capture.hpp): whom it must not wait
// for, and where new memory comes from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <backplane/runtime/stream.hpp>
#include <backplane/tensor/error.hpp>
#include <backplane/tensor/storage.hpp>

namespace bp {

struct StreamState;

// Among a thread's included layers while it captures, below all layers: so that calls take the long path, where they
// are recorded, at no cost to those of other threads.
inline constexpr std::uint64_t capture_key = 1;

// A graph's own pool in the allocator of a device: what is allocated from it while capturing is used again within the
// capture, and by nobody else until the graph is gone.
class BP_API GraphMemory {
 public:
  // For work on `stream`.
  explicit GraphMemory(StreamImpl& stream);
  // Nothing that uses the memory runs any more. What tensors still hold belongs to the stream from now on.
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  bool owns(Storage& storage) const;
  StreamImpl& pool() const;  // names it to the allocator; no stream of the device

 private:
  StreamImpl& stream_;
  std::unique_ptr<StreamState> pool_;
};

// The state of a thread while it captures.
struct CaptureState {
  StreamImpl& stream;
  GraphMemory& memory;
  bool by_device = false;  // the device records (bp.capture), else the core does
  std::string failure;     // of the first call that could not be captured
};

namespace detail {
extern BP_API constinit thread_local CaptureState* thread_capture
    __attribute__((tls_model("initial-exec")));
}  // namespace detail

// Null unless this thread captures.
inline CaptureState* current_capture() {
  return detail::thread_capture;
}
// Work that this thread submits runs later, if ever: it cannot be waited for, read or measured.
inline bool is_capturing() {
  return detail::thread_capture != nullptr;
}
// Makes it the thread's; null ends that.
BP_API void set_current_capture(CaptureState* capture);
// The device begins, or stops, recording what is submitted to the stream. True if it did before.
BP_API bool set_recorded(StreamImpl& stream, bool recorded);

// This thread's capture cannot continue: the error is thrown here, and again at its end if somebody
// catches this one.
[[noreturn]] BP_API void refuse_capture(CaptureState& capture, ErrorClass error_class,
                                        const std::string& sentence);

namespace detail {
BP_API void check_outside(CaptureState& capture, const char* action, const StreamImpl& stream,
                          const char* what, const char* advice);
BP_API void check_may_wait(CaptureState& capture, const char* action, const DeviceRecord& record);
BP_API void check_may_copy(CaptureState& capture, const DeviceRecord& record,
                           std::uint32_t direction);
}  // namespace detail

// Refuse, while this thread captures: `what` on the stream that is captured; waiting for its device, of whose work
// nothing has run; copies but those within it.
inline void check_outside_capture(const char* action, const StreamImpl& stream, const char* what,
                                  const char* advice) {
  if (CaptureState* capture = current_capture()) [[unlikely]]
    detail::check_outside(*capture, action, stream, what, advice);
}
inline void check_may_wait(const char* action, const DeviceRecord& record) {
  if (CaptureState* capture = current_capture()) [[unlikely]]
    detail::check_may_wait(*capture, action, record);
}
inline void check_may_copy(const DeviceRecord& record, std::uint32_t direction) {
  if (CaptureState* capture = current_capture()) [[unlikely]]
    detail::check_may_copy(*capture, record, direction);
}

// Whose pool new memory of the device comes from: the current stream's, or that of the capture.
inline StreamImpl& stream_of_memory(DeviceRecord& record) {
  const CaptureState* capture = current_capture();
  if (capture && capture->stream.record == &record) [[unlikely]]
    return capture->memory.pool();
  return current_stream_impl(record);
}

}  // namespace bp
