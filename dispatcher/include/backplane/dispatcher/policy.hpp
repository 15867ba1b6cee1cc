// The application's policy for each rung of the fallback ladder: the ways in which a call may be served.
#pragma once

#include <cstdint>

#include <backplane/dispatcher/counters.hpp>
#include <backplane/tensor/device.hpp>

namespace bp {

enum class Policy : std::uint8_t { allow, warn_once, forbid };

// Of one device; forbidden rungs are skipped, and when nothing is left the call fails with a sentence
// that names the rung and how to allow it. Native cannot be forbidden.
BP_API void set_policy(Device device, Rung rung, Policy policy);
BP_API Policy policy(Device device, Rung rung);

// For all devices, on this thread, while it lives.
class BP_API PolicyScope {
 public:
  PolicyScope(Rung rung, Policy policy);
  ~PolicyScope();
  PolicyScope(const PolicyScope&) = delete;
  PolicyScope& operator=(const PolicyScope&) = delete;

 private:
  std::uint64_t before_;
};

}  // namespace bp
