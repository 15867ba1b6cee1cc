// Attention that drops scores, by products of whole matrices: the row native_attention drops none.
#pragma once

#include "recipes/helpers.hpp"

namespace bp::bridge {

// [N, heads, length, width] each, f32 or f64.
struct Heads {
  Tensor query, key, value;
};

struct DroppedAttention {
  Tensor result;  // [N, heads, length, width of value]
  Tensor scores;  // after softmax, before some are dropped: [N, heads, length, length of key]
  Tensor kept;    // bool, of the same shape
};

// softmax(query key^T scale + bias) without the share `dropped` of its elements, the others divided by 1 - dropped, times
// value. `bias`: of what can be broadcast to [N, heads, length, length of key], or undefined; where a row of it is -inf, nothing is
// kept.
DroppedAttention attention_with_dropout(const Heads& heads, const Tensor& bias, double dropped,
                                        bool is_causal, double scale);
// By query, key and value.
Triple attention_with_dropout_gradients(const Tensor& grad, const Heads& heads,
                                        const DroppedAttention& attention, double dropped,
                                        double scale);

}  // namespace bp::bridge
