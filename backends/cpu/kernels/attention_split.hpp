// The products of attention in f32 by AMX, each number in three parts of bf16 (docs/decisions/0020).
#pragma once

#include "attention_products.hpp"

namespace bp::cpu {

inline constexpr BlockSizes split_blocks{64, 256};

// True where they are faster than vectors.
bool suits_split_attention(const HeadSizes& sizes);

// Only where that is true. NULL where there is no AMX.
std::unique_ptr<ForwardProducts<float>> split_forward_products(const HeadSizes& sizes);
std::unique_ptr<BackwardProducts<float>> split_backward_products(const HeadSizes& sizes);

}  // namespace bp::cpu
