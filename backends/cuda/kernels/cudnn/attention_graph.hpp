// Attention and its gradients as graphs of the operations that cuDNN joins into one kernel (Dao et al. 2022). It knows
// them by their form: operations, their order and the types in between are those that its documentation shows.
#pragma once

#include "kernels/cudnn/graph.hpp"

namespace cuda_backend::cudnn {

// Sizes of query, [batch, heads, queries, size], key, [batch, shared_heads, keys, size], and value, [batch, shared_heads,
// keys, value_size]; and how they lie, in elements.
struct Attention {
  bp::Dtype dtype;
  int64_t batch, heads, shared_heads, queries, keys, size, value_size;
  bool is_causal;
  std::array<int64_t, 4> query, key, value;
};

// The tensors that a call brings, by their numbers in the graph. `minus_infinity` only if the attention is causal.
struct ForwardIds {
  static constexpr Id query = 0, key = 1, value = 2, scale = 3, minus_infinity = 4, result = 5,
                      logsumexp = 6;
};
Graph attention_graph(const Library& library, const Attention& attention);

struct BackwardIds {
  static constexpr Id query = 0, key = 1, value = 2, scale = 3, minus_infinity = 4, result = 5,
                      logsumexp = 6, grad = 7, one = 8, by_query = 9, by_key = 10, by_value = 11;
  // Room for f32: [batch, heads, queries], and the same with the sizes of queries, the latter only if the sums of the
  // gradient by queries may be added in any order.
  static constexpr Id shift = 12, sums = 13;
};
// `result` and gradients lie in row-major order, `grad` as its strides say.
Graph attention_backward_graph(const Library& library, const Attention& attention,
                               const std::array<int64_t, 4>& grad, bool deterministic);

}  // namespace cuda_backend::cudnn
