// What the derivatives of normalizations and attention are written with.
#pragma once

#include <span>

#include <backplane/core_ops/generated/all.hpp>

namespace bp::autograd {

// What comes through each result that has a gradient.
void layer_norm_gradients(const Tensor& bias, const Tensor& grad, const Tensor& grad_mean,
                          const Tensor& grad_rstd, const Tensor& input, IntList normalized_shape,
                          const Tensor& weight, const Tensor& mean, const Tensor& rstd,
                          std::span<Tensor> out);
void rms_norm_gradients(const Tensor& grad, const Tensor& grad_rstd, const Tensor& input,
                        IntList normalized_shape, const Tensor& weight, const Tensor& rstd,
                        std::span<Tensor> out);
void batch_norm_gradients(const Tensor& grad, const Tensor& grad_mean, const Tensor& grad_variance,
                          const Tensor& input, const Tensor& weight, const Tensor& mean,
                          const Tensor& variance, double eps, std::span<Tensor> out);
void attention_gradients(const Tensor& grad, const Tensor& grad_logsumexp, const Tensor& query,
                         const Tensor& key, const Tensor& value, const Tensor& attn_mask,
                         const Tensor& result, const Tensor& logsumexp, bool is_causal,
                         double scale, std::span<Tensor> out);
Tensor attention_mask_gradient(const Tensor& grad, const Tensor& grad_logsumexp,
                               const Tensor& query, const Tensor& key, const Tensor& value,
                               const Tensor& attn_mask, const Tensor& result,
                               const Tensor& logsumexp, bool is_causal, double scale);

}  // namespace bp::autograd
