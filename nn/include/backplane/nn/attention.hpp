// Attention of several heads.
#pragma once

#include <backplane/nn/linear.hpp>

namespace bp::nn {

struct MultiheadAttentionOptions {
  double dropout = 0;  // of the weights, in training
  bool bias = true;
  bool add_bias_kv = false;               // one more key and value, which are parameters
  bool add_zero_attn = false;             // and one of zeros
  std::optional<std::int64_t> kdim = {};  // of keys and values, where not embed_dim
  std::optional<std::int64_t> vdim = {};
  bool batch_first = false;
  Dtype dtype = default_dtype();
  Device device = default_device();
};

struct AttentionArguments {
  // [batch, keys], or [keys]: true for keys that no query sees, or numbers to add to the scores.
  Tensor key_padding_mask = {};
  // Without the weights the computation is one call of scaled_dot_product_attention.
  bool need_weights = true;
  // [queries, keys], or [batch * num_heads, queries, keys]: true for keys that the query does not see, or numbers to add.
  Tensor attn_mask = {};
  // Averaged over all heads; else one per head.
  bool average_attn_weights = true;
  // Says that attn_mask hides everything after the query; the mask itself must be passed too.
  bool is_causal = false;
};

struct AttentionResult {
  Tensor output;  // as the query
  Tensor
      weights;  // [batch, queries, keys], or [batch, num_heads, queries, keys]; undefined unless needed
};

// Softmax of the scaled products of projected queries and keys, times the projected values, then projected (Vaswani et
// al., Attention is all you need, 2017). Query, key and value are [length, batch, features], [batch, length, features]
// with `batch_first`, or [length, features]. Weights begin as xavier_uniform_, biases as zeros. Throws bad_argument for
// sizes that do not fit, naming both.
class BP_API MultiheadAttention : public Module {
 public:
  MultiheadAttention(std::int64_t embed_dim, std::int64_t num_heads,
                     const MultiheadAttentionOptions& options = {});

  AttentionResult operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                             const AttentionArguments& arguments = {}) const;
  using Module::forward;
  AttentionResult forward(const Tensor& query, const Tensor& key, const Tensor& value,
                          const AttentionArguments& arguments = {}) const;
  // Of query, key and value: the output and the weights.
  std::vector<Tensor> forward_all(std::span<const Tensor> inputs) const override;
  void list_parts(Parts& parts) override;

  bool batch_first() const { return options_.batch_first; }

  Parameter in_proj_weight;  // [3 * embed_dim, embed_dim], or absent
  Parameter q_proj_weight, k_proj_weight,
      v_proj_weight;         // with kdim or vdim: [embed_dim, features]
  Parameter in_proj_bias;    // [3 * embed_dim], or absent
  Parameter bias_k, bias_v;  // [1, 1, embed_dim], or absent

  // The type as PyTorch prints it.
  class BP_API NonDynamicallyQuantizableLinear : public Linear {
   public:
    using Linear::Linear;
  };
  NonDynamicallyQuantizableLinear out_proj;

 private:
  struct Heads;
  void check_arguments(const Tensor& query, const Tensor& key, const Tensor& value,
                       const AttentionArguments& arguments) const;
  Heads project(const Tensor& query, const Tensor& key, const Tensor& value) const;
  Tensor mask_of(const AttentionArguments& arguments, const Heads& heads, std::int64_t keys) const;
  AttentionResult weigh(const Heads& heads, double dropout_p) const;

  std::int64_t embed_dim_, num_heads_;
  MultiheadAttentionOptions options_;
};

}  // namespace bp::nn
