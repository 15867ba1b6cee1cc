// Convolutions of small pictures as products of matrices: the windows of all pictures are the columns of one, which AMX
// multiplies (matmul_split.hpp).
#pragma once

#include "convolution_primitive.hpp"

namespace bp::cpu {

// Chosen by shape and processor alone: f32 in one group, row-major, with pictures so small that oneDNN reaches no speed.
bool pays_by_products(const ConvolutionKey& key);

// False: a result may be no number or infinite, or there is no AMX. Then the outputs hold nothing of use, and another way
// must be taken. Windows lie in memory of the call.
bool convolve_by_products(const bp_call* call, const ConvolutionKey& key, const Addresses& at,
                          bp_code& code);

}  // namespace bp::cpu
