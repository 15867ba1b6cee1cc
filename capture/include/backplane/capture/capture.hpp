// Capture: the work of a function, recorded once and replayed as one piece, without shapes, promotion, allocation or
// dispatch. See note: capture.
#pragma once

#include <functional>
#include <memory>

#include <backplane/runtime/stream.hpp>

namespace bp {

struct RecordedWork;
struct ReleaseRecordedWork {
  BP_API void operator()(RecordedWork* work) const noexcept;  // once its last replay is done
};

// Recorded work of one device. It keeps alive all memory that it uses: the tensors that its calls read and write are
// the same ones at each replay, so that new inputs are written into the old ones (copy_into), and results are read
// from the tensors that the capture gave.
class BP_API Recording {
 public:
  Recording() = default;  // empty

  // Submits the work to the thread's current stream of the device, in order with it and after earlier replays.
  // Returns before the work is done unless the device is synchronous; errors are reported as for the calls
  // themselves.
  // Throws bad_argument for an empty recording and within a capture. Threads: one at a time.
  void replay();

  bool empty() const { return !work_; }
  Device device() const;
  // True if the device itself holds the recording (bp.capture); else the core does, call by call.
  bool is_of_device() const;
  // Kernels, copies and fills.
  std::size_t num_calls() const;

 private:
  friend class CaptureScope;
  std::unique_ptr<RecordedWork, ReleaseRecordedWork> work_;
};

// Captures what this thread submits to the stream from here to finish(); meanwhile, the stream is the thread's current
// one. Nothing runs. Calls on another device or stream, waiting for the device, copies from or to the host, calls that
// only the host can serve and those whose shape depends on data throw; so does finish() then, and the capture is
// dropped. The destructor drops one that was not finished. One per thread.
class BP_API CaptureScope {
 public:
  explicit CaptureScope(const Stream& stream);
  ~CaptureScope();
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;

  Recording finish();

 private:
  bp_code end(bool takes) noexcept;

  StreamGuard guard_;
  std::unique_ptr<RecordedWork, ReleaseRecordedWork> work_;
  bool is_open_ = false;
};

// Captures the work that `work` submits; it is called once. If it throws, the capture is dropped
// and the exception passes through.
BP_API Recording capture(const Stream& stream, const std::function<void()>& work);
// On the thread's current stream of the device.
BP_API Recording capture(Device device, const std::function<void()>& work);

}  // namespace bp
