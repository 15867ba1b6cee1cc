// A decomposition that a layer runs instead of a rung.
#pragma once

#include <backplane/dispatcher/operator.hpp>

namespace bp {

// Runs the operator's shape rule, which checks the arguments and rewrites them, and then its decomposition. False, without
// running it, if there is nothing to compute: `inferred` says what to fill the results with.
bool run_rule_and_decomposition(const Call& call, Inferred& inferred);

}  // namespace bp
