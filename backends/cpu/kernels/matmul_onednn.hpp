// Products of f32 and bf16 matrices by oneDNN, in parts on our own threads.
#pragma once

#include "matmul.hpp"

namespace bp::cpu {

// a and b by rows or by columns without overlap. False: oneDNN has no way to multiply these. What it needs lies in memory of
// the call.
bool multiply_by_onednn(const bp_call* call, const Product& product, bp_code& code);

}  // namespace bp::cpu
