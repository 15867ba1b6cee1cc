// Convolutions by oneDNN in parts of some pictures each, on our own threads.
#pragma once

#include "convolution_primitive.hpp"

namespace bp::cpu {

using ConvolutionCache = PrimitiveCache<ConvolutionKey, ConvolutionPrimitive, 256>;

// This thread's, and the one for a key among them.
ConvolutionCache& convolution_primitives();
ConvolutionPrimitive& convolution_primitive_for(const ConvolutionKey& key);

// Multiplications of the whole.
int64_t work_of(const ConvolutionKey& key);

// What a primitive's operands and its scratch memory have been set to. `with_weight`: the weight is reordered as well.
void run_convolution(const ConvolutionKey& key, const ConvolutionPrimitive& primitive,
                     bool with_weight);

// False: too few pictures, too little work, or a weight so large that the parts' own copies of it would cost more than they
// bring; nothing was done. Memory is the call's.
bool convolve_in_parts(const bp_call* call, const ConvolutionKey& key, const Addresses& at,
                       bp_code& code);

}  // namespace bp::cpu
