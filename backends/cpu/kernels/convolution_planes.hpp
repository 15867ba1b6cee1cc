// Convolutions of small planes of few channels by our own vector code, with neither a matrix of windows nor a copy in oneDNN's order.
#pragma once

#include "convolution_primitive.hpp"

namespace bp::cpu {

// Chosen by shape and processor alone: f32 in one group, row-major, stride 1, without AVX-512.
bool pays_by_planes(const ConvolutionKey& key);

// False: a result is NaN or infinite, perhaps by a zero beside a picture times an infinite number. Then the outputs hold
// nothing of use, and another way must be taken. Padded planes lie in memory of the call.
bool convolve_by_planes(const bp_call* call, const ConvolutionKey& key, const Addresses& at,
                        bp_code& code);

}  // namespace bp::cpu
