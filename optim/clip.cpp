#include <algorithm>
#include <cmath>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/dispatcher/host_device.hpp>
#include <backplane/optim/clip.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/promotion.hpp>

#include "lists.hpp"

namespace bp::optim {
namespace {

Tensors gradients_of(TensorList parameters) {
  Tensors gradients;
  for (const Tensor& each : parameters.span())
    if (const Tensor gradient = grad(each); gradient.defined())
      gradients.push_back(real_parts(gradient));
  return gradients;
}

// The norm of a complex number is that of its parts only for 2; others want its absolute value.
Tensor in_real_numbers(const Tensor& tensor, double norm_type) {
  return is_complex(tensor.dtype()) && norm_type != 2 ? abs(tensor) : real_parts(tensor);
}

}  // namespace

Tensor get_total_norm(TensorList tensors, double norm_type, bool error_if_nonfinite) {
  const Apart apart;
  if (tensors.span().empty()) return full({}, 0, f32, host_device());
  Tensors real;
  for (const Tensor& each : tensors.span())
    if (each.numel() > 0) real.push_back(in_real_numbers(each, norm_type));
  const Tensor& first = tensors.span()[0];
  if (real.empty()) return full({}, 0, to_real(first.dtype()), first.device());
  Tensors parts;
  for (const Tensors& list : by_device_and_dtype(real))
    parts.push_back(to(norm(stack(_foreach_norm(list, norm_type)), norm_type), first.device()));
  Tensor total = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const Dtype widest = promote(total.dtype(), parts[i].dtype());
    total = norm(stack({to(total, widest), to(parts[i], widest)}), norm_type);
  }
  if (error_if_nonfinite) {
    const double value = item<double>(total);
    BP_CHECK(std::isfinite(value),
             "clip_grad_norm_: the norm of order {} is {}, which cannot be used to clip; find what "
             "made the gradients infinite, or set error_if_nonfinite to false",
             norm_type, value);
  }
  return total;
}

void clip_grads_with_norm_(TensorList parameters, double max_norm, const Tensor& total_norm) {
  const Apart apart;
  const Tensor factor = clamp_max(div(max_norm, add(total_norm, 1e-6)), 1.0);
  for (const Tensors& list : by_device_and_dtype(gradients_of(parameters)))
    _foreach_mul_(list, Tensors(list.size(), to(factor, list[0].device(), list[0].dtype())));
}

Tensor clip_grad_norm_(TensorList parameters, double max_norm, double norm_type,
                       bool error_if_nonfinite) {
  Tensors gradients;
  for (const Tensor& each : parameters.span())
    if (const Tensor gradient = grad(each); gradient.defined()) gradients.push_back(gradient);
  const Tensor total = get_total_norm(gradients, norm_type, error_if_nonfinite);
  clip_grads_with_norm_(parameters, max_norm, total);
  return total;
}

void clip_grad_value_(TensorList parameters, double clip_value) {
  BP_CHECK(clip_value >= 0, "clip_grad_value_: clip_value is {}; it must not be negative",
           clip_value);
  const Apart apart;
  for (const Tensors& list : by_device_and_dtype(gradients_of(parameters)))
    assign(list, _foreach_minimum(_foreach_maximum(list, -clip_value), clip_value));
}

}  // namespace bp::optim
