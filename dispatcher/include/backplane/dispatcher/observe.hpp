// For layers that watch calls: runs a call and reports which rung served it.
#pragma once

#include <optional>

#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/operator.hpp>

namespace bp {

// Runs the call below all layers. Unlike redispatch_below, it excludes no layer meanwhile, so layers also see calls made
// inside (by a decomposition, or on the host). Returns nothing if the core needed no kernel (no elements), or for a
// composite, whose parts are reported one by one.
BP_API std::optional<Rung> run_observed(const Call& call);

}  // namespace bp
