// Streams and events: a stream is an in-order command queue, an event a marker in one.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include <backplane/plugin/capture.hpp>
#include <backplane/plugin/host_calls.hpp>
#include <backplane/plugin/process.hpp>

#include "opencl.hpp"
#include "staging.hpp"

namespace opencl {

class Recording;

using bp::check_process;
using bp::process_generation;

// Threads: any, for every function but constructor and destructor.
class Queue {
 public:
  // Throws bp::Failure.
  Queue(cl_context context, cl_device_id device, int32_t priority);
  // Over a queue of the application's, which is of `device` and which it may give work as well.
  Queue(cl_command_queue adopted, cl_device_id device);
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Gives work: `enqueue` puts it into the command queue and returns OpenCL's code. It must not wait.
  template <class Enqueue> bp::Status submit(const char* what, Enqueue enqueue) {
    if (bp::Status status = check_process(born_); !status.is_ok()) return status;
    const cl_int error = enqueue(queue_.get());
    given_.fetch_add(1, std::memory_order_relaxed);
    return check(what, error);
  }

  bp::Status synchronize();
  bp::Status query();

  // What is given goes there instead, between bp_capture.begin and end; else null.
  Recording* recording() const { return recording_.load(std::memory_order_acquire); }
  bool is_recording() const { return recording() != nullptr; }
  void set_recording(Recording* recording) { recording_ = recording; }
  // BP_UNSUPPORTED while something is recorded that cannot hold this work.
  bp::Status refuse_in_recording(const char* what) const {
    return bp::refuse_in_recording(is_recording(), what);
  }

  // Made when first asked for. Throws bp::Failure.
  Staging& staging(cl_context context);

  bp::StreamCaller& caller() { return caller_; }

  cl_command_queue get() const { return queue_.get(); }
  // Events note the host's time when they are reached: true for all queues of a device, or for none.
  bool has_host_clock() const { return has_host_clock_; }

 private:
  const uint32_t born_ = process_generation();
  OwnedQueue queue_;
  const bool has_host_clock_;
  const bool is_adopted_ = false;
  std::atomic<uint64_t> given_{0};
  std::atomic<Recording*> recording_{nullptr};
  std::mutex mutex_;   // of what follows
  OwnedEvent marker_;  // for query: behind the first `marked_` pieces of work
  uint64_t marked_ = 0;
  std::unique_ptr<Staging> staging_;
  bp::StreamCaller caller_;
};

// Threads: any, for every function.
class Event {
 public:
  bp::Status record(Queue& queue);
  // Later work of `queue` waits for the place recorded last.
  bp::Status make_wait(Queue& queue);
  bp::Status query();
  bp::Status synchronize();
  // On the device's clock, or the host's: one of them for all events of a device.
  static bp::Result<double> elapsed(Event& start, Event& end);

  // The marker recorded last, with a reference of the caller's own; null before the first.
  OwnedEvent marker();

 private:
  // When a marker was reached, by the host's clock.
  struct Stamp {
    std::atomic<int64_t> ns{0};
    std::shared_ptr<Stamp> self;  // until it is written: the event may be gone by then
  };

  static cl_int enqueue_stamp(cl_command_queue to, const std::shared_ptr<Stamp>& stamp,
                              cl_event* event);
  static void CL_CALLBACK write_stamp(void* arguments);
  bp::Result<double> reached_ns();

  std::mutex mutex_;
  OwnedEvent marker_;
  std::shared_ptr<Stamp> stamp_;  // null where the queue measures
};

}  // namespace opencl
