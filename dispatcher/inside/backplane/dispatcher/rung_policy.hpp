// What the ladder asks about policies.
#pragma once

#include <atomic>

#include <backplane/dispatcher/policy.hpp>

namespace bp {

bool rung_allowed(Device device, Rung rung);
// True the first time that a rung with Policy::warn_once is used.
bool rung_warns(Device device, Rung rung);
// Whether anyone has ever set a policy for generated kernels; the short call path then uses the long one.
inline std::atomic<bool> generated_has_policy{false};
inline bool generated_is_restricted() {
  return generated_has_policy.load(std::memory_order_relaxed);
}
// Called when the device is gone, since another may get its number.
void forget_policies(Device device);

}  // namespace bp
