// Gradients to kernels that are one point as a product of two matrices, of all pictures' points by channels: oneDNN's own reach
// half to four fifths of a product's speed.
#pragma once

#include "convolution_primitive.hpp"

namespace bp::cpu {

// Chosen by shape and processor alone: f32 in one group without padding; and where pictures must be copied for it, only if that is little beside the
// work.
bool pays_by_points(const ConvolutionKey& key);

// What is copied lies in memory of the call.
bp_code convolve_by_points(const bp_call* call, const ConvolutionKey& key, const Addresses& at);

}  // namespace bp::cpu
