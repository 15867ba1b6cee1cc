// The application's policy for each rung of the fallback ladder: in which ways may a call be served?
#pragma once

#include <cstdint>
#include <iosfwd>

#include <backplane/dispatcher/counters.hpp>
#include <backplane/tensor/device.hpp>

namespace bp {

enum class Policy : std::uint8_t { allow, warn_once, forbid };
BP_API std::ostream& operator<<(std::ostream& stream, Policy policy);

// For one device. Forbidden rungs are skipped; if none is left, the call fails with a message that names the rung
// and says how to allow it. Native cannot be forbidden.
BP_API void set_policy(Device device, Rung rung, Policy policy);
BP_API Policy policy(Device device, Rung rung);

// Sets a policy for all devices on this thread, while it lives.
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
