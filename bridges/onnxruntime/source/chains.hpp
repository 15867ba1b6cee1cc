// Pointwise nodes behind each other, which one call computes: each element is read once and written once.
#pragma once

#include "fused.hpp"

namespace bp::onnx {

// Of the nodes that are not `taken`; those that it finds are taken then. `has_pictures`: some values have their channels last.
std::vector<FusedNodes> join_pointwise(const std::vector<GraphNode>& nodes, const Readers& readers,
                                       bool has_pictures, std::vector<bool>& taken);

}  // namespace bp::onnx
