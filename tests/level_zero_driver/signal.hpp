// What events and fences have in common: a flag that the host and commands of any queue set, and that both can wait for.
// Level Zero lets a command wait for a flag that nobody has promised to set yet; OpenCL has no such thing, so a user
// event stands in until somebody does.
#pragma once

#include <condition_variable>
#include <mutex>

#include "driver.hpp"

namespace over_opencl {

// Threads: any, for every function.
class Signal {
 public:
  explicit Signal(Device& device) : device_(device) {}
  ~Signal() { abandon(); }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  // What a command that waits for it must wait for; null if it is set. Throws Failure.
  OwnedEvent awaited();
  // A command that sets it has been given: it is set when `done` is complete, unless it is already, and tells the
  // times of `measured`.
  void promise(OwnedEvent done, OwnedEvent measured);
  // Nobody will set it: who waits for it goes on.
  void abandon();

  void set();
  void reset();
  // ZE_RESULT_SUCCESS, ZE_RESULT_NOT_READY or what has become of the device.
  ze_result_t query();
  ze_result_t wait(uint64_t timeout_ns);
  // When its command began and ended. False if it is not set.
  bool times(uint64_t& start_ns, uint64_t& end_ns);

 private:
  ze_result_t state();  // with the mutex held

  Device& device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_ = false;
  uint64_t set_at_ns_ = 0;  // by the host
  OwnedEvent promised_;  // the first promise since the last reset: setting it again changes nothing
  OwnedEvent measured_;  // of the last one
  OwnedEvent waited_for_;  // the user event, while there is no promise
};

}  // namespace over_opencl
