// Whether a device may still be used: by this process, and at all.
#pragma once

#include <atomic>

#include "level_zero.hpp"

namespace level_zero {

// Threads: any.
class DeviceState {
 public:
  bool is_of_this_process() const { return process_generation() == born_; }

  // BP_DEVICE_LOST in a child of fork(), and ever after the driver has said that the device is lost.
  bp::Status check() const {
    if (bp::Status status = check_process(born_); !status.is_ok()) [[unlikely]]
      return status;
    const char* call = lost_in_.load(std::memory_order_relaxed);
    if (call == nullptr) [[likely]]
      return bp::ok;
    return bp::device_lost("the device was lost in %s; restart the process", call);
  }

  // The status of what `call`, a literal, has returned while it did `what`.
  bp::Status check(const char* what, const char* call, ze_result_t result) {
    if (result == ZE_RESULT_SUCCESS) [[likely]]
      return bp::ok;
    if (class_of(result) == BP_DEVICE_LOST) lost_in_.store(call, std::memory_order_relaxed);
    return bp::error(class_of(result), "%s: %s: %s", what, call, name_of(result).c_str());
  }

 private:
  const uint32_t born_ = process_generation();
  std::atomic<const char*> lost_in_{nullptr};
};

}  // namespace level_zero
