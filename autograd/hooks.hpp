// Calling the application's hooks on the turn of a node that has extras.
#pragma once

#include "node.hpp"

namespace bp::autograd {

// Hooks of the node's results, which may change `gradients`; then retain_grad keeps them.
void call_tensor_hooks(Node& node, std::span<Tensor> gradients);
// Hooks of the node, before and after it was applied; they may change `gradients`, and `by_inputs`.
void call_pre_hooks(Node& node, std::span<Tensor> gradients);
void call_node_hooks(Node& node, std::span<Tensor> by_inputs, std::span<const Tensor> gradients);

// Throws bad_argument, naming `what`, for a gradient that cannot be put in place of one like `like`.
void check_gradient_like(const std::string& what, const Tensor& gradient, const Tensor& like);

}  // namespace bp::autograd
