// Products of f32 matrices on AVX-512: 0.86 to 0.93 of what the processor's multiply-adds allow, however the factors lie.
#pragma once

#include "matmul.hpp"

namespace bp::cpu {

// True for f32 matrices, each by rows or by columns, that are worth packing one pair after the other, where there is AVX-512.
bool suits_panels(const Product& product);

// The same bits for any number of threads. What is packed lies in memory of the call.
bp_code multiply_by_panels(const bp_call* call, const Product& product);

}  // namespace bp::cpu
