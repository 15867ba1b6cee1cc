// Convolutions of a graph, each with the nodes behind it that one call computes, by a weight that is packed once.
#pragma once

#include "fused.hpp"

namespace bp::onnx {

// Whether the device's backend has a kernel of its own for the row.
bool has_packed_convolution(Device device);

// Those that a kernel of the device takes; none where it has no such kernel. They are `taken` then.
std::vector<FusedNodes> fuse_convolutions(const std::vector<GraphNode>& nodes,
                                          const Readers& readers, Device device,
                                          std::vector<bool>& taken);

}  // namespace bp::onnx
