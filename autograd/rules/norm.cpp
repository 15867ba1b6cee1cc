// Derivatives of normalizations.
#include "rules.hpp"

namespace bp::autograd {
namespace {

// The part that comes through 1 / sqrt(mean of centered^2 + eps).
Tensor through_rstd(const Tensor& grad_rstd, const Tensor& centered, const Tensor& rstd,
                    double count) {
  return grad_rstd * (rstd * rstd * rstd) * (-1 / count) * centered;
}

Tensor wide(const Tensor& input, const Tensor& statistics) {
  return input.dtype() == statistics.dtype() ? input : cast(input, statistics.dtype());
}

Tensor added(const Tensor& sum, const Tensor& part, Dtype dtype) {
  Tensor narrow = part.dtype() == dtype ? part : cast(part, dtype);
  return sum.defined() ? sum + narrow : narrow;
}

double product_of(IntList shape) {
  double product = 1;
  for (std::int64_t size : shape) product *= static_cast<double>(size);
  return product;
}

// Those by weight and bias, where there are any, come with the one by `input`.
void through_result(const Tensor& grad, const Tensor& input, IntList normalized_shape,
                    const Tensor& weight, const Tensor& mean, const Tensor& rstd,
                    std::span<Tensor> out) {
  if (!weight.defined()) {
    out[0] = norm_backward(grad, input, normalized_shape, mean, rstd);
    return;
  }
  NormGradientsResult parts = norm_gradients(grad, input, normalized_shape, mean, rstd, weight);
  out[0] = std::move(parts.grad_input);
  out[1] = std::move(parts.grad_weight);
  if (mean.defined()) out[2] = std::move(parts.grad_bias);
}

}  // namespace

void layer_norm_gradients(const Tensor& bias, const Tensor& grad, const Tensor& grad_mean,
                          const Tensor& grad_rstd, const Tensor& input, IntList normalized_shape,
                          const Tensor& weight, const Tensor& mean, const Tensor& rstd,
                          std::span<Tensor> out) {
  const double count = product_of(normalized_shape);
  if (grad.defined()) through_result(grad, input, normalized_shape, weight, mean, rstd, out);
  if (grad.defined() && bias.defined() && !out[2].defined())
    out[2] = sum_to(grad, normalized_shape);
  if (grad_rstd.defined())
    out[0] = added(out[0], through_rstd(grad_rstd, wide(input, rstd) - mean, rstd, count),
                   input.dtype());
  if (grad_mean.defined())
    out[0] = added(out[0], expand(grad_mean * (1 / count), input.shape()), input.dtype());
}

void rms_norm_gradients(const Tensor& grad, const Tensor& grad_rstd, const Tensor& input,
                        IntList normalized_shape, const Tensor& weight, const Tensor& rstd,
                        std::span<Tensor> out) {
  if (grad.defined()) through_result(grad, input, normalized_shape, weight, {}, rstd, out);
  if (!grad_rstd.defined()) return;
  const double count = product_of(normalized_shape);
  out[0] = added(out[0], through_rstd(grad_rstd, wide(input, rstd), rstd, count), input.dtype());
}

void batch_norm_gradients(const Tensor& grad, const Tensor& grad_mean, const Tensor& grad_variance,
                          const Tensor& input, const Tensor& weight, const Tensor& mean,
                          const Tensor& variance, double eps, std::span<Tensor> out) {
  if (grad.defined()) {
    BatchNormBackwardResult parts = batch_norm_backward(grad, input, weight, mean, variance, eps);
    out[0] = std::move(parts.grad_input);
    out[1] = std::move(parts.grad_weight);
    out[2] = std::move(parts.grad_bias);
  }
  if (!grad_mean.defined() && !grad_variance.defined()) return;
  Dims shape(static_cast<std::uint32_t>(input.ndim()), 1);
  shape[1] = mean.numel();
  const double count = static_cast<double>(input.numel()) / static_cast<double>(mean.numel());
  if (grad_mean.defined())
    out[0] = added(out[0], expand(reshape(grad_mean * (1 / count), shape), input.shape()),
                   input.dtype());
  if (grad_variance.defined()) {
    const Tensor centered = wide(input, mean) - reshape(mean, shape);
    out[0] = added(out[0], reshape(grad_variance * (2 / count), shape) * centered, input.dtype());
  }
}

}  // namespace bp::autograd
