// BACKPLANE_SHADOW: every call of a device is done once more on another one, and the results are compared.
#pragma once

#include <optional>

#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/operator.hpp>

namespace bp::tracing {

// Is it asked for, and has no call differed yet?
bool shadow_is_on();

// Runs the call as it is and, where that can be compared, once more. The first that differs is saved and reported with
// the command that repeats it, and is the last to be looked at: what comes later may follow from it. Changes neither
// results nor counts. Throws what the call itself throws. Threads: any.
std::optional<Rung> run_shadowed(const Call& call);

// Says how much was compared, if anything was.
void finish_shadow();

}  // namespace bp::tracing
