// Transposed convolutions whose windows lie side by side, as those that double a picture: a product, whose results are then spread.
#pragma once

#include "fused.hpp"

namespace bp::onnx {

bool is_spreading(const GraphNode& node);

// For such a node, the only one of `fused`: takes what stands behind it as well, and makes the action.
void fuse_behind_spreading(const std::vector<GraphNode>& nodes, const Readers& readers,
                           Device device, const std::vector<bool>& taken, FusedNodes& fused);

}  // namespace bp::onnx
