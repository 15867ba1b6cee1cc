// A decomposition that a layer runs in place of a rung.
#pragma once

#include <backplane/dispatcher/operator.hpp>

namespace bp {

// Runs the rule of the row's shape and then its decomposition: the rule checks the arguments and rewrites them to what the
// decomposition expects. False, with nothing run, if there is nothing to compute: `inferred` says what fills the results.
bool run_rule_and_decomposition(const Call& call, Inferred& inferred);

}  // namespace bp
