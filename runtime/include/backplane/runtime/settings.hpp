// Process-wide and per-thread defaults: device, dtype, threads, determinism, precision.
#pragma once

#include <atomic>
#include <cstdint>

#include <backplane/tensor/api.hpp>
#include <backplane/tensor/device.hpp>
#include <backplane/tensor/dtype.hpp>

namespace bp {

// The dtype of new floating tensors: f32 at first. Throws bad_argument unless it is floating.
BP_API Dtype default_dtype();
BP_API void set_default_dtype(Dtype dtype);

// How many threads one call may use on the host: all cores, or BACKPLANE_NUM_THREADS, at first.
BP_API std::uint32_t num_threads();
BP_API void set_num_threads(std::uint32_t count);

// Only kernels that give the same bits for the same inputs; a call without one is an error.
BP_API bool deterministic();
BP_API void set_deterministic(bool on);

// Products of f32 may read their factors with fewer bits of the fraction (TF32: 10 of 23) where a device is faster that
// way. Off at first, or as BACKPLANE_ALLOW_TF32 (1 or 0) says.
BP_API bool allow_tf32();
BP_API void set_allow_tf32(bool on);

// The device of new tensors on this thread while it lives.
class BP_API DeviceGuard {
 public:
  explicit DeviceGuard(Device device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  Device before_;
  bool had_one_;
};

// The process's default device; unset (false) until someone sets it: the loader then takes "cpu".
BP_API void set_default_device(Device device);
BP_API bool get_default_device(Device& out);

namespace detail {
// The default device as the loader found it, while no guard is active; 0: unknown, ask again.
extern BP_API std::atomic<std::uint32_t> usual_device;
}  // namespace detail

}  // namespace bp
