// Writing in place under autograd: the tensor's way changes, and that of what shares its memory.
#pragma once

#include "variable.hpp"

namespace bp::autograd {

// Throws bad_argument where a recorded call may not write: a leaf that requires grad, a view of
// one, a view made under NoGrad, memory that other tensors share which autograd knows nothing of.
void check_writable(const char* op, const Tensor& target);

// After the call: the target's values are result `place` of the node, and so is that part of its base,
// if it is a view.
void set_written(const Tensor& target, NodeRef node, std::uint32_t place);

// A view whose base was written since it was made: its way leads through the base.
void find_way_through_base(const Tensor& view, Variable& variable);

}  // namespace bp::autograd
