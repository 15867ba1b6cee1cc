// Normalization with statistics that are kept, and its derivatives.
#include <algorithm>

#include "recipes/helpers.hpp"

namespace bp::bridge {
namespace {

// All dimensions but that of channels.
std::vector<std::int64_t> but_channels(const Tensor& tensor) {
  std::vector<std::int64_t> dims;
  for (std::int64_t dim = 0; dim < tensor.ndim(); ++dim)
    if (dim != 1) dims.push_back(dim);
  return dims;
}

void blend(const Tensor& running, const Tensor& value, double momentum) {
  if (running.defined())
    copy_into(running, running * (1 - momentum) + cast(value, running.dtype()) * momentum);
}

// Autocast gives 16-bit images to layers whose parameters and statistics are float32.
bool is_mixed(const Tensor& input, std::initializer_list<Tensor> others) {
  const bool is_short = input.dtype() == f16 || input.dtype() == bf16;
  return is_short && std::ranges::any_of(others, [](const Tensor& other) {
           return other.defined() && other.dtype() == f32;
         });
}

}  // namespace

Triple batch_normalized(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Tensor& running_mean, const Tensor& running_var, bool training,
                        double momentum, double eps) {
  if (is_mixed(input, {weight, bias, running_mean, running_var})) {
    Triple found = batch_normalized(cast(input, f32), weight, bias, running_mean, running_var,
                                    training, momentum, eps);
    found[0] = cast(found[0], input.dtype());
    return found;
  }
  if (!training) {
    const Tensor none = zeros({0}, input.dtype(), input.device());
    return {batch_norm(input, weight, bias, running_mean, running_var, false, momentum, eps), none,
            none};
  }
  const auto found = native_batch_norm(input, weight, bias, eps);
  const double count = static_cast<double>(input.numel()) /
                       static_cast<double>(std::max<std::int64_t>(input.size(1), 1));
  blend(running_mean, found.mean, momentum);
  blend(running_var, found.variance * (count / std::max(count - 1, 1.0)), momentum);
  return {found.result, found.mean, rsqrt(found.variance + eps)};
}

Triple batch_norm_gradients(const Tensor& grad, const Tensor& input, const Tensor& weight,
                            const Tensor& mean, const Tensor& scale, bool training) {
  if (is_mixed(input, {weight})) {
    Triple found =
        batch_norm_gradients(cast(grad, f32), cast(input, f32), weight, mean, scale, training);
    found[0] = cast(found[0], input.dtype());
    return found;
  }
  if (training) {
    const auto found = batch_norm_backward(grad, input, weight, mean, reciprocal(square(scale)), 0);
    return {found.grad_input, found.grad_weight, found.grad_bias};
  }
  const std::vector<std::int64_t> dims = but_channels(input);
  const std::int64_t ndim = input.ndim();
  const Tensor factor = weight.defined() ? weight * scale : scale;
  const Tensor normal = (input - per_channel(mean, ndim)) * per_channel(scale, ndim);
  return {cast(grad * per_channel(factor, ndim), input.dtype()), sum(grad * normal, dims),
          sum(grad, dims)};
}

Triple group_norm_gradients(const Tensor& grad, const Tensor& input, const Tensor& mean,
                            const Tensor& rstd, const Tensor& weight, std::int64_t groups) {
  const std::int64_t batch = input.size(0), channels = input.size(1);
  const std::int64_t area = input.numel() / std::max<std::int64_t>(batch * channels, 1);
  const std::int64_t length[] = {channels / groups * area};
  const Tensor scaled = weight.defined() ? grad * per_channel(weight, input.ndim()) : grad;
  const Tensor rows = reshape(input, {batch, groups, length[0]});
  const Tensor center = reshape(mean, {batch, groups, 1}),
               scale = reshape(rstd, {batch, groups, 1});
  const Tensor by_input = norm_backward(reshape(scaled, {batch, groups, length[0]}), rows,
                                        IntList(length, 1), center, scale);
  const Tensor normal = reshape((rows - center) * scale, input.shape());
  const std::vector<std::int64_t> dims = but_channels(input);
  return {reshape(by_input, input.shape()), sum(grad * normal, dims), sum(grad, dims)};
}

Pair weight_normed(const Tensor& v, const Tensor& g, std::int64_t dim) {
  Dims others;
  for (std::int64_t i = 0; i < v.ndim(); ++i)
    if (i != wrapped(dim, v.ndim())) others.push_back(i);
  return {weight_norm(v, g, dim), others.empty() ? abs(v) : norm(v, 2, others, true)};
}

Pair weight_norm_gradients(const Tensor& grad, const Tensor& v, const Tensor& g, std::int64_t dim) {
  const Tensor direction = detach(v), length = detach(g);
  set_requires_grad(direction);
  set_requires_grad(length);
  const std::vector<Tensor> found =
      autograd::grad({weight_norm(direction, length, dim)}, {direction, length}, {grad});
  return {found[0], found[1]};
}

}  // namespace bp::bridge
