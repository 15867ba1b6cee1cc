// State that each thread carries from call to call: one pointer in thread-local storage, so that the call
// path reads it in a nanosecond.
#pragma once

#include <cstdint>
#include <string>

#include <backplane/abi.h>
#include <backplane/tensor/api.hpp>
#include <backplane/tensor/device.hpp>

namespace bp {

class Level;
struct StreamImpl;
struct ThreadCache;

// Devices that one process can know at once, and backends. Numbers are given again after unloading.
inline constexpr std::uint32_t max_devices = 256;
inline constexpr std::uint32_t max_backends = 64;

struct ThreadState {
  std::uint64_t included_layers = 0;  // layers that see every call of this thread
  std::uint64_t excluded_layers = 0;  // layers that see none
  std::uint64_t new_tensor_keys = 0;  // what this thread's new tensors carry
  // This thread's counters of calls, by slot (dispatcher/counters.hpp). Only this thread writes.
  std::uint64_t* counters = nullptr;
  std::uint32_t num_counters = 0;
  std::uint32_t uncounted_depth = 0;  // within a fallback: its inner calls are not counted
  std::uint32_t forbidden_rungs = 0;  // bits; policies of this thread (dispatcher/policy.hpp)
  std::uint32_t warned_rungs = 0;
  const Level* levels = nullptr;  // the highest active one (dispatcher/level.hpp)
  Device default_device;
  bool has_default_device = false;
  StreamImpl* streams[max_devices] = {};  // current streams; null: the device's default one
  ThreadCache* caches[max_devices] = {};  // small free blocks (allocator.hpp)
  // The error record that plugins write through the host.
  bp_code error_code = BP_OK;
  std::uint64_t error_call = 0;  // bp_call.number of the call that the error is of; 0: not said
  std::string error_message;
};

namespace detail {
extern BP_API constinit thread_local ThreadState* current_thread_state
    __attribute__((tls_model("initial-exec")));
BP_API ThreadState& make_thread_state();
}  // namespace detail

// This thread's state; made at the first use, and gone with the thread: after all its thread_local
// objects, so that these may still hold tensors. The main thread's lives as long as the process.
inline ThreadState& thread_state() {
  ThreadState* state = detail::current_thread_state;
  if (state) [[likely]]
    return *state;
  return detail::make_thread_state();
}

// Calls `hook` with the state of every thread that ends from now on, and of the process's first one
// at its end. A hook given twice is called once.
BP_API void register_thread_exit(void (*hook)(ThreadState& state));

}  // namespace bp
