// Streams and events: those of the driver. No stream waits for the default stream of CUDA, nor it for them.
#pragma once

#include <atomic>
#include <memory>

#include <backplane/plugin/capture.hpp>

#include "cuda.hpp"
#include "host_calls.hpp"

namespace cuda_backend {

class Device;
class Staging;

// Threads: any, for every function but constructor and destructor.
class Queue {
 public:
  // Throws bp::Failure.
  Queue(Device& device, int32_t priority);
  // Takes a stream of the application's, which outlives this.
  Queue(Device& device, CUstream adopted);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  bp::Status synchronize();
  bp::Status query();

  // What is given is recorded, between bp_capture.begin and end.
  bool is_recording() const { return recording_.load(std::memory_order_relaxed); }
  void set_recording(bool recording) { recording_ = recording; }
  // BP_UNSUPPORTED while a recording is made, which cannot hold this work.
  bp::Status refuse_in_recording(const char* what) const {
    return bp::refuse_in_recording(is_recording(), what);
  }

  // For messages: what was given last. `kernel` lives as long as the process.
  void note(const char* kernel) { last_kernel_.store(kernel, std::memory_order_relaxed); }
  // The status of a call that failed, which may be the fault of work given earlier.
  bp::Status explain(const char* what, int error) const;
  bp::Status check(const char* what, int error) const {
    return error == CUDA_SUCCESS ? bp::ok : explain(what, error);
  }

  // Made when first asked for. Throws bp::Failure.
  Staging& staging();
  // An event at the end of what has been given; the next mark moves it.
  bp::Result<CUevent> mark();

  HostCalls& host_calls() { return host_calls_; }

  Device& device() const { return device_; }
  CUstream get() const { return stream_; }

 private:
  Device& device_;
  CUstream stream_ = nullptr;
  bool is_own_ = true;
  std::atomic<bool> recording_{false};
  std::atomic<const char*> last_kernel_{nullptr};
  std::atomic<Staging*> staging_{nullptr};
  std::atomic<CUevent> mark_{nullptr};
  HostCalls host_calls_;
};

// Threads: any, for every function.
class Event {
 public:
  // Throws bp::Failure.
  explicit Event(Device& device);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  bp::Status record(Queue& queue);
  // Later work of `queue` waits for the place recorded last.
  bp::Status make_wait(Queue& queue);
  bp::Status query();
  bp::Status synchronize();
  // Nanoseconds.
  static bp::Result<double> elapsed(Event& start, Event& end);

  CUevent get() const { return event_; }

 private:
  Device& device_;
  CUevent event_ = nullptr;
};

}  // namespace cuda_backend
