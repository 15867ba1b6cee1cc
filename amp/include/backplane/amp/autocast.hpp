// Mixed precision: while an Autocast lives, each call's floating tensors are cast by its row's rule. See docs/amp.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <backplane/runtime/thread_state.hpp>
#include <backplane/tensor/device.hpp>
#include <backplane/tensor/dtype.hpp>

namespace bp::amp {

// The casts of a thread: for each backend the dtype of the rule `lower`, or nothing. A copy carries it to other threads, or
// to a function that runs later.
class BP_API AutocastState {
 public:
  AutocastState() = default;  // nothing is cast

  // This thread's, now.
  static AutocastState current();

  bool is_enabled() const { return enabled_ != 0; }
  bool is_enabled(Device device) const;
  // The dtype of the rule `lower` on the device; its default if nothing is cast.
  Dtype dtype(Device device) const;
  bool is_cache_enabled() const { return cache_enabled_; }

  // For all devices of the device's backend. Throws bad_argument for a dtype that is neither float16 nor bfloat16.
  void set(Device device, bool enabled, std::optional<Dtype> dtype = {});
  void set_cache_enabled(bool enabled) { cache_enabled_ = enabled; }

 private:
  friend class Casting;
  std::uint64_t enabled_ = 0;  // bits of backends
  std::array<std::uint8_t, max_backends> dtypes_{};
  bool cache_enabled_ = true;
};

// While one lives, this thread casts as the state says. They end in reverse order, on the thread that made them. When
// the outermost ends, cached casts of weights are dropped.
class BP_API UseAutocast {
 public:
  explicit UseAutocast(const AutocastState& state);
  ~UseAutocast();
  UseAutocast(const UseAutocast&) = delete;
  UseAutocast& operator=(const UseAutocast&) = delete;
  static void* operator new(std::size_t) = delete;
  static void* operator new[](std::size_t) = delete;

 private:
  const AutocastState before_;
  const std::uint64_t included_before_, excluded_before_;
};

struct AutocastOptions {
  // float16 or bfloat16. By default bfloat16 on the host's processors, float16 on other devices.
  std::optional<Dtype> dtype = {};
  bool enabled = true;
  // Caches casts of weights until the outermost Autocast ends. By default, as the enclosing Autocast
  // does.
  std::optional<bool> cache_enabled = {};
};

// PyTorch's torch.autocast. Calls with tensors of the device's backend, whichever of its devices they are on, are cast by
// their rows' rules; others as the enclosing Autocast says. float64, integers and 8-bit floats stay. Calls into a given
// tensor (out=, in place) get their arguments as they are. Derivatives are computed in the dtypes of forward, whether
// or not backward runs inside, and a parameter's gradient has the parameter's dtype.
// Threads: affects only the calling one; see AutocastState.
class BP_API Autocast {
 public:
  explicit Autocast(Device device, const AutocastOptions& options = {});
  // By name: "cpu", "acme:0". Throws bad_argument if there is no such device.
  explicit Autocast(std::string_view device_type, const AutocastOptions& options = {});
  static void* operator new(std::size_t) = delete;  // a scope, and no value
  static void* operator new[](std::size_t) = delete;

 private:
  UseAutocast used_;
};

// Does this thread cast on the device?
BP_API bool is_autocast_enabled(Device device);
// The dtype of the rule `lower` there.
BP_API Dtype get_autocast_dtype(Device device);
BP_API bool is_autocast_cache_enabled();
// Drops this thread's cached casts of weights.
BP_API void clear_autocast_cache();

}  // namespace bp::amp
