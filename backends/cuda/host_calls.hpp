// The extension bp.host_calls: functions of the host between the work of a stream.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include <backplane/extensions/host_calls.h>

namespace cuda_backend {

extern const bp_host_calls host_call_functions;

// One function that a stream was given. The driver skips it after an error; then the stream's end calls it.
class HostCall {
 public:
  HostCall(void (*function)(void*), void* context) : function_(function), context_(context) {}
  void run() {
    if (!called_.exchange(true)) function_(context_);
  }
  bool is_called() const { return called_.load(); }

 private:
  void (*function_)(void*);
  void* context_;
  std::atomic<bool> called_{false};
};

// Those of one stream. Threads: any; the driver calls from one of its own.
class HostCalls {
 public:
  // The address stays until the call is done and another is added.
  HostCall& add(void (*function)(void*), void* context);
  void drop(const HostCall& call);
  // The driver calls nothing more.
  void run_the_rest();

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<HostCall>> calls_;
};

}  // namespace cuda_backend
