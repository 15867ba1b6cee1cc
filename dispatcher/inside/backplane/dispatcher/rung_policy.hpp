// What the ladder asks of the policies.
#pragma once

#include <atomic>

#include <backplane/dispatcher/policy.hpp>

namespace bp {

bool rung_allowed(Device device, Rung rung);
// True the first time that a rung is used for which a warning was asked.
bool rung_warns(Device device, Rung rung);
// Has anyone ever set a policy for generated kernels? The short call path then asks the long one.
inline std::atomic<bool> generated_has_policy{false};
inline bool generated_is_restricted() {
  return generated_has_policy.load(std::memory_order_relaxed);
}
// The device is gone, and its number may be another's.
void forget_policies(Device device);

}  // namespace bp
