// The node of an operator that is not a row of the table: a plugin may have declared its derivative as data.
#pragma once

#include <backplane/dispatcher/operator.hpp>

#include "node.hpp"

namespace bp::autograd {

// Keeps the arguments that the declaration names, before the call runs. Without a declaration the node
// throws `unsupported` when backward comes through it, instead of stopping silently. `in_place`: the call
// writes one of its arguments, which no declaration speaks of.
NodeRef make_plugin_node(const Call& call, bool in_place);
// After the call.
void keep_plugin_results(Node& node, const Call& call);

}  // namespace bp::autograd
