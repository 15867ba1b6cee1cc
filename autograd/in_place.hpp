// Writing in place under autograd: the tensor's way changes, and that of what shares its memory.
#pragma once

#include "variable.hpp"

namespace bp::autograd {

// Throws bad_argument where a recorded call may not write: a leaf that wants its gradient, a view of
// one, memory that other tensors share which autograd knows nothing of.
void check_writable(const char* op, const Tensor& target);

// After the call: the target's values come from result `place` of the node. If it is a view, its base
// now comes in part from there. `target_edge`: which of the node's edges is the target's own, as it was
// before, or -1.
void set_written(const Tensor& target, NodeRef node, std::uint32_t place, int target_edge);

// A view whose base was written since it was made: its way leads through the base.
void find_way_through_base(const Tensor& view, Variable& variable);

}  // namespace bp::autograd
