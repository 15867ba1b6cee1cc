// What a convolution needs besides the product itself: pictures in the other order, and a bias.
#pragma once

#include <backplane/plugin.hpp>

#include "kernels/on_card.hpp"

namespace cuda_backend {

// Batches of pictures, [batch, channels, plane], in row-major order or with the channels last. Sizes are at least 1.
struct Pictures {
  int64_t batch, channels, plane;
  uint32_t itemsize;  // 2, 4, 8 or, for reorder(), 16
};

// Copies to the other order: from row-major to channels-last, or back. Asynchronous.
bp::Status reorder(const OnCard& card, const Pictures& pictures, bool to_channels_last,
                   const void* from, void* to);

// Adds element c of `bias` to each element of channel c. Asynchronous.
bp::Status add_bias(const OnCard& card, const Pictures& pictures, bool channels_last, bp::In bias,
                    bp::Out to);

// A dense tensor of 16-bit floats in f32, in the same order. Asynchronous.
bp::Status widen(const OnCard& card, const bp::AnyTensor& from, float* to);

// `wide`, which lies as `to`, plus element c of `bias` in channel c, rounded once. 16-bit floats; asynchronous.
bp::Status round_with_bias(const OnCard& card, const Pictures& pictures, bool channels_last,
                           const float* wide, bp::In bias, bp::Out to);

}  // namespace cuda_backend
