// Products by constant matrices, each with the nodes behind it that one call computes, by a matrix that is packed once.
#pragma once

#include "fused.hpp"

namespace bp::onnx {

// Those that a kernel of the device takes; none where it has no such kernel. They are `taken` then.
std::vector<FusedNodes> fuse_products(const std::vector<GraphNode>& nodes, const Readers& readers,
                                      Device device, std::vector<bool>& taken);

}  // namespace bp::onnx
