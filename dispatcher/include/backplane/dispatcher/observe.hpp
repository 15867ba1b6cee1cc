// For layers that watch calls: runs one, and says by which rung it was served.
#pragma once

#include <optional>

#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/operator.hpp>

namespace bp {

// Runs the call below all layers. Unlike redispatch_below it excludes none meanwhile, so that calls made inside (by a
// decomposition, or on the host) are seen as well. Nothing: the core needed no kernel (no elements), or the call is a
// composite, whose parts say it each for itself.
BP_API std::optional<Rung> run_observed(const Call& call);

}  // namespace bp
