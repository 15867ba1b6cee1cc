#include "signal.hpp"

#include <chrono>
#include <thread>

namespace over_opencl {
namespace {

using std::chrono::steady_clock;

cl_int status_of(cl_event event) {
  cl_int status = CL_QUEUED;
  const cl_int error =
      clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  return error == CL_SUCCESS ? status : error;
}

// OpenCL takes over the reference to `user_event` that came with the callback.
void CL_CALLBACK set_user_event(cl_event, cl_int, void* user_event) {
  const OwnedEvent event(static_cast<cl_event>(user_event));
  clSetUserEventStatus(event.get(), CL_COMPLETE);
}

steady_clock::time_point deadline_in(uint64_t timeout_ns) {
  constexpr uint64_t year_ns = 31536000000000000;
  return steady_clock::now() + std::chrono::nanoseconds(std::min(timeout_ns, year_ns));
}

}  // namespace

OwnedEvent Signal::awaited() {
  std::lock_guard lock(mutex_);
  if (state() == ZE_RESULT_SUCCESS) return nullptr;
  if (promised_ != nullptr) return share(promised_.get());
  if (waited_for_ == nullptr) {
    cl_int error = CL_SUCCESS;
    waited_for_.reset(clCreateUserEvent(device_.driver().context(), &error));
    require(error);
  }
  return share(waited_for_.get());
}

void Signal::promise(OwnedEvent done, OwnedEvent measured) {
  OwnedEvent to_set;
  cl_event watched = done.get();
  {
    std::lock_guard lock(mutex_);
    to_set = std::move(waited_for_);
    measured_ = std::move(measured);
    if (promised_ == nullptr && !is_set_) promised_ = std::move(done);
    // OpenCL may call back at once, and so back into nothing of ours; the lock keeps `watched` alive.
    if (to_set != nullptr)
      clSetEventCallback(watched, CL_COMPLETE, set_user_event, to_set.release());
  }
  changed_.notify_all();
}

void Signal::abandon() {
  std::lock_guard lock(mutex_);
  if (waited_for_ != nullptr) clSetUserEventStatus(waited_for_.get(), CL_COMPLETE);
  waited_for_.reset();
}

void Signal::set() {
  {
    std::lock_guard lock(mutex_);
    is_set_ = true;
    set_at_ns_ = device_.now_ns();
    if (waited_for_ != nullptr) clSetUserEventStatus(waited_for_.get(), CL_COMPLETE);
    waited_for_.reset();
  }
  changed_.notify_all();
}

void Signal::reset() {
  std::lock_guard lock(mutex_);
  is_set_ = false;
  set_at_ns_ = 0;
  promised_.reset();
  measured_.reset();
}

ze_result_t Signal::state() {
  if (is_set_) return ZE_RESULT_SUCCESS;
  if (promised_ != nullptr) {
    const cl_int status = status_of(promised_.get());
    if (status < 0) return ZE_RESULT_ERROR_DEVICE_LOST;
    is_set_ = status == CL_COMPLETE;
    if (is_set_) return ZE_RESULT_SUCCESS;
  }
  return device_.is_lost() ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_NOT_READY;
}

ze_result_t Signal::query() {
  std::lock_guard lock(mutex_);
  return state();
}

ze_result_t Signal::wait(uint64_t timeout_ns) {
  const auto deadline = deadline_in(timeout_ns);
  // Nobody wakes those who wait when a device is lost, so they look.
  constexpr std::chrono::milliseconds look_again(5);
  constexpr std::chrono::microseconds short_sleep(20);
  std::unique_lock lock(mutex_);
  while (true) {
    const ze_result_t now = state();
    if (now != ZE_RESULT_NOT_READY) return now;
    if (timeout_ns == 0 || steady_clock::now() >= deadline) return ZE_RESULT_NOT_READY;
    if (promised_ == nullptr) {
      changed_.wait_until(lock, std::min(deadline, steady_clock::now() + look_again));
      continue;
    }
    const OwnedEvent promised = share(promised_.get());
    lock.unlock();
    if (timeout_ns == UINT64_MAX) {
      const cl_event event = promised.get();
      clWaitForEvents(1, &event);
    } else {
      std::this_thread::sleep_for(short_sleep);
    }
    lock.lock();
  }
}

bool Signal::times(uint64_t& start_ns, uint64_t& end_ns) {
  std::lock_guard lock(mutex_);
  if (state() != ZE_RESULT_SUCCESS) return false;
  start_ns = end_ns = set_at_ns_;
  if (measured_ == nullptr) return true;
  cl_ulong start = 0, end = 0;
  clGetEventProfilingInfo(measured_.get(), CL_PROFILING_COMMAND_START, sizeof start, &start,
                          nullptr);
  clGetEventProfilingInfo(measured_.get(), CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr);
  start_ns = start;
  end_ns = end;
  return true;
}

}  // namespace over_opencl
