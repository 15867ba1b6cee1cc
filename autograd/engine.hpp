// Going back through the record.
#pragma once

#include <backplane/autograd/autograd.hpp>

#include "node.hpp"

namespace bp::autograd {

// One way back: gradients flow from the roots' edges until nothing is left. Nodes come in falling order,
// in which every node's gradient is complete when it is its turn; so no count of users has to be made
// first, and depth is not recursion.
// `inputs`: if any, only what leads to these edges is gone through, and their gradients are returned in
// their order instead of being accumulated in leaves.
std::vector<Tensor> go_back(std::span<const Edge> roots, std::span<const Tensor> gradients,
                            std::span<const Edge> inputs, const BackwardOptions& options);

// Adds a gradient to what is there; in place if nobody else can see that, and it is not recorded.
void accumulate(Tensor& sum, Tensor gradient);

}  // namespace bp::autograd
