// Products of large f32 matrices on AMX, which multiplies bf16: as exact as f32's own, and 1.5 to 2 times as fast.
// See docs/decisions/0020-f32-products-in-three-parts.md.
#pragma once

#include "matmul.hpp"

namespace bp::cpu {

// True for what is worth trying: large f32 matrices, each by rows or by columns, where there is AMX.
bool suits_split(const Product& product);

// False: a result is not a number or beyond 1e18, or could be infinite on the way. Then `out` holds nothing of use, and another
// way must be taken. The same bits for any number of threads, which may call at once. What is packed lies in memory of the
// call.
bool multiply_split(const bp_call* call, const Product& product, bp_code& code);

}  // namespace bp::cpu
