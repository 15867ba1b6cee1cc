// What the ladder asks of the policies.
#pragma once

#include <backplane/dispatcher/policy.hpp>

namespace bp {

bool rung_allowed(Device device, Rung rung);
// True the first time that a rung is used which someone wants to be warned of.
bool rung_warns(Device device, Rung rung);
// The device is gone, and its number may be another's.
void forget_policies(Device device);

}  // namespace bp
