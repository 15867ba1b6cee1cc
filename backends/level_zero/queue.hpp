// Streams and events: a stream is an immediate command list, or regular ones on a queue; an event a mark in one.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>

#include <backplane/plugin/capture.hpp>
#include <backplane/plugin/host_calls.hpp>

#include "device_state.hpp"
#include "level_zero.hpp"
#include "lists.hpp"
#include "marks.hpp"
#include "staging.hpp"

namespace level_zero {

class Recording;

// Threads: any, for every function but constructor and destructor.
class Queue {
 public:
  // Throws bp::Failure.
  Queue(Device& device, int32_t priority);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Gives work, or records it: `append(OrderedList&)` appends commands and returns Level Zero's result. `what` is done
  // by `call`, for messages.
  template <class Append> bp::Status submit(const char* what, const char* call, Append append) {
    if (bp::Status status = state_.check(); !status.is_ok()) return status;
    return state_.check(what, call, give(append));
  }
  template <class Append> ze_result_t give(Append append);

  bp::Status synchronize();
  bp::Status query();

  // A place behind all that was given. `given`: how much that was.
  bp::Result<Mark> mark(uint64_t* given = nullptr);
  // Later work waits for that place.
  bp::Status wait_for(const Mark& mark);
  // Runs what was recorded; see Lists::run.
  bp::Status run(ze_command_list_handle_t closed, const Mark& start, const Mark& done);

  // What is given goes there instead, between bp_capture.begin and end; else null.
  Recording* recording() const { return recording_.load(std::memory_order_acquire); }
  bool is_recording() const { return recording() != nullptr; }
  void set_recording(Recording* recording);
  // BP_UNSUPPORTED while something is recorded that cannot hold this work.
  bp::Status refuse_in_recording(const char* what) const {
    return bp::refuse_in_recording(is_recording(), what);
  }

  // Made when first asked for. Throws bp::Failure.
  Staging& staging();

  bp::StreamCaller& caller() { return caller_; }

  Device& device() const { return device_; }
  const Lists& lists() const { return lists_; }

 private:
  // Held until the second place is reached, since a mark that is waited for must not be used again.
  struct Waited {
    Mark held, until;
  };

  Device& device_;
  DeviceState& state_;
  std::mutex mutex_;  // of what follows
  Lists lists_;
  std::atomic<uint64_t> given_{0};  // pieces of work, marks among them
  std::atomic<Recording*> recording_{nullptr};
  std::mutex marking_;  // of what follows
  std::deque<Waited> waited_;
  Mark last_;  // for query: behind the first `marked_` pieces of work
  uint64_t marked_ = 0;
  uint64_t done_ = 0;  // so many are known to be
  std::unique_ptr<Staging> staging_;
  bp::StreamCaller caller_;
};

// Threads: any, for every function.
class Event {
 public:
  explicit Event(Device& device) : device_(device) {}

  bp::Status record(Queue& queue);
  // Later work of `queue` waits for the place recorded last.
  bp::Status make_wait(Queue& queue);
  bp::Status query();
  bp::Status synchronize();
  // On the device's clock, in nanoseconds.
  static bp::Result<double> elapsed(Event& start, Event& end);

  // The place recorded last; null before the first.
  Mark mark();
  Device& device() const { return device_; }

 private:
  bp::Result<uint64_t> reached_at();

  Device& device_;
  std::mutex mutex_;
  Mark mark_;
};

}  // namespace level_zero

#include "recording.hpp"

namespace level_zero {

template <class Append> ze_result_t Queue::give(Append append) {
  std::lock_guard lock(mutex_);
  if (Recording* recording = this->recording()) return recording->add(append);
  given_.fetch_add(1, std::memory_order_relaxed);
  return lists_.give(append);
}

}  // namespace level_zero
