// Derivatives of attention.
#include "rules.hpp"

namespace bp::autograd {

void attention_gradients(const Tensor& grad, const Tensor& grad_logsumexp, const Tensor& query,
                         const Tensor& key, const Tensor& value, const Tensor& attn_mask,
                         const Tensor& result, const Tensor& logsumexp, bool is_causal,
                         double scale, std::span<Tensor> out) {
  AttentionBackwardResult parts =
      attention_backward(grad.defined() ? grad : zeros_like(result), grad_logsumexp, query, key,
                         value, attn_mask, result, logsumexp, is_causal, scale);
  out[0] = std::move(parts.grad_query);
  out[1] = std::move(parts.grad_key);
  out[2] = std::move(parts.grad_value);
}

Tensor attention_mask_gradient(const Tensor& grad, const Tensor& grad_logsumexp,
                               const Tensor& query, const Tensor& key, const Tensor& value,
                               const Tensor& attn_mask, const Tensor& result,
                               const Tensor& logsumexp, bool is_causal, double scale) {
  return attention_mask_backward(grad.defined() ? grad : zeros_like(result), grad_logsumexp, query,
                                 key, value, attn_mask, result, logsumexp, is_causal, scale);
}

}  // namespace bp::autograd
