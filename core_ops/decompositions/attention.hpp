// Attention and its gradients, from other operators.
#pragma once

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

// Leading dimensions become [b, h]; dropout takes the way over the weights.
Tensor attention_of_any_rank(const Tensor& query, const Tensor& key, const Tensor& value,
                             const Tensor& attn_mask, double dropout_p, bool is_causal,
                             std::optional<double> scale, bool enable_gqa);

NativeAttentionResult attention_by_softmax(const Tensor& query, const Tensor& key,
                                           const Tensor& value, const Tensor& attn_mask,
                                           bool is_causal, double scale);
AttentionBackwardResult attention_backward_by_products(
    const Tensor& grad, const Tensor& grad_logsumexp, const Tensor& query, const Tensor& key,
    const Tensor& value, const Tensor& attn_mask, const Tensor& result, const Tensor& logsumexp,
    bool is_causal, double scale);
Tensor attention_mask_backward_by_products(const Tensor& grad, const Tensor& grad_logsumexp,
                                           const Tensor& query, const Tensor& key,
                                           const Tensor& value, const Tensor& attn_mask,
                                           const Tensor& result, const Tensor& logsumexp,
                                           bool is_causal, double scale);

}  // namespace bp
