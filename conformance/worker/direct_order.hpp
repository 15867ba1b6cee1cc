// What scripts of the direct lane give to streams besides work of the device: functions of the host, and semaphores.
//
//     {"do":"host_call", "object":H, "stream":S?, "gate":B?}  a function that counts its calls; with a gate it returns once
//        "open" was asked for, or after 300 ms
//     {"do":"host_calls", "object":H} -> "calls", "place" of the last one among all of the script
//     {"do":"open", "object":H}
//     {"do":"semaphore", "object":M}  a number of the host's, taken by the plugin
//     {"do":"semaphore_wait"|"semaphore_signal", "object":M, "value":V, "stream":S?}
//     {"do":"semaphore_raise", "object":M, "value":V}  by the host
//     {"do":"semaphore_value", "object":M} -> "value"
//     {"do":"pause", "milliseconds":T}
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>

#include <backplane/extensions/host_calls.h>
#include <backplane/extensions/semaphores.h>

#include "worker/direct_plugin.hpp"

namespace bp::conform {

// Does the plugin take numbers of the host as semaphores?
bool takes_timelines(const DirectPlugin& plugin);

class OrderObjects {
 public:
  struct HostCall {
    OrderObjects* all = nullptr;
    bool has_gate = false;
    std::atomic<int> calls{0}, place{0};
  };
  struct Semaphore {
    DirectPlugin* plugin = nullptr;
    bp_semaphore* raw = nullptr;
    alignas(8) std::uint64_t number = 0;
  };

  HostCall& add_call(int object, bool has_gate);
  HostCall& call(int object);
  Semaphore& add_semaphore(int object, DirectPlugin& plugin);
  Semaphore& semaphore(int object);
  void open();
  // Nothing that the script has given may wait any more.
  void let_all_go();
  // All work is done.
  void end();

 private:
  static void run(void* context);
  friend struct HostFunction;

  std::mutex mutex_;
  std::condition_variable opened_;
  bool is_open_ = false;
  std::atomic<int> places_{0};
  std::map<int, std::unique_ptr<HostCall>> calls_;
  std::map<int, std::unique_ptr<Semaphore>> semaphores_;
};

// What bp_host_calls.call is given, with a HostCall.
struct HostFunction {
  static void run(void* context) { OrderObjects::run(context); }
};

}  // namespace bp::conform
