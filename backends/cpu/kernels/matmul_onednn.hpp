// Products of f32 and bf16 matrices by oneDNN, in parts on our own threads.
#pragma once

#include "matmul.hpp"

namespace bp::cpu {

// by_shape: what shape and processor alone choose. The others are oneDNN's: its matmul, that with bands cut along the other
// side, and its older function for one pair of f32 matrices.
enum class ProductWay : uint32_t { by_shape, primitive, across, older };

// a and b by rows or by columns without overlap. False: oneDNN has no way to multiply these. What it needs lies in memory of
// the call.
bool multiply_by_onednn(const bp_call* call, const Product& product, bp_code& code,
                        ProductWay way = ProductWay::by_shape);

// Whether oneDNN would read the factors of an f32 product, or of its parts, where they lie, one line for each k.
bool is_read_in_place(const Product& product);

}  // namespace bp::cpu
