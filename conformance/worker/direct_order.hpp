// What scripts of the direct lane give to streams besides work of the device: functions of the host, and semaphores.
//
//     {"do":"host_call", "object":H, "stream":S?, "gate":MS?}  a function that counts its calls; with a gate it returns once
//        "open" was asked for, or after so many milliseconds
//     {"do":"host_calls", "object":H} -> "calls", "place" of the last one among all of the script
//     {"do":"open", "object":H} -> "over": had its time passed before?
//     {"do":"semaphore", "object":M}  a number of the host's, taken by the plugin
//     {"do":"semaphore_wait"|"semaphore_signal", "object":M, "value":V, "stream":S?}
//     {"do":"semaphore_raise", "object":M, "value":V}  by the host
//     {"do":"semaphore_value", "object":M} -> "value"
//     {"do":"pause", "milliseconds":T}
//     {"do":"work", "to":N, "from":M, "stream":S, "milliseconds":T}  copies that take the device so long
//     {"do":"destroy", "event":E} {"do":"destroy", "stream":S}
//     {"do":"inject", "kind":"given"|"work"|"memory", "error":CODE}  of the device's next piece of work, or allocation
#pragma once

#include <atomic>
#include <chrono>
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
    std::chrono::milliseconds gate{0};  // 0: none
    bool is_open = false, is_over = false;
    std::atomic<int> calls{0}, place{0};
  };
  struct Semaphore {
    DirectPlugin* plugin = nullptr;
    bp_semaphore* raw = nullptr;
    alignas(8) std::uint64_t number = 0;
  };

  HostCall& add_call(int object, std::chrono::milliseconds gate);
  HostCall& call(int object);
  Semaphore& add_semaphore(int object, DirectPlugin& plugin);
  Semaphore& semaphore(int object);
  // True if the gate's time had passed.
  bool open(HostCall& call);
  // Nothing that the script has given may wait any more.
  void let_all_go();
  // All work is done.
  void end();

 private:
  static void run(void* context);
  friend struct HostFunction;

  std::mutex mutex_;
  std::condition_variable opened_;
  std::atomic<int> places_{0};
  std::map<int, std::unique_ptr<HostCall>> calls_;
  std::map<int, std::unique_ptr<Semaphore>> semaphores_;
};

// What bp_host_calls.call is given, with a HostCall.
struct HostFunction {
  static void run(void* context) { OrderObjects::run(context); }
};

}  // namespace bp::conform
