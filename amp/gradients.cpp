#include "gradients.hpp"

#include <limits>
#include <unordered_set>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/optim/alike.hpp>

namespace bp::amp {
namespace {

// The largest magnitude of each, which is infinite or NaN if an element is.
std::vector<Tensor> magnitudes(const std::vector<Tensor>& group) {
  std::vector<Tensor> real;
  for (const Tensor& tensor : group)
    if (tensor.numel()) real.push_back(is_complex(tensor.dtype()) ? view_as_real(tensor) : tensor);
  return real.empty() ? real : _foreach_norm(real, std::numeric_limits<double>::infinity());
}

}  // namespace

std::vector<Tensor> gradients_of(const optim::Optimizer& optimizer) {
  std::vector<Tensor> gradients;
  std::unordered_set<const TensorImpl*> seen;
  for (const Tensor& parameter : optimizer.parameters())
    if (const Tensor gradient = requires_grad(parameter) ? grad(parameter) : Tensor();
        gradient.defined() && seen.insert(gradient.impl()).second)
      gradients.push_back(gradient);
  return gradients;
}

Tensor found_inf_in(const std::vector<Tensor>& gradients) {
  const Device device = gradients[0].device();
  Tensor found = zeros({}, f32, device);
  for (const optim::Tensors& group : optim::by_device_and_dtype(gradients)) {
    const std::vector<Tensor> largest = magnitudes(group);
    if (largest.empty()) continue;
    const Tensor bad = cast(any(logical_not(isfinite(stack(largest)))), f32);
    found = maximum(found, to_device(bad, device));
  }
  return found;
}

void multiply_all(const std::vector<Tensor>& gradients, const Tensor& factor) {
  for (const optim::Tensors& group : optim::by_device_and_dtype(gradients)) {
    const Tensor here = to_device(factor, group[0].device());
    const Dtype dtype = group[0].dtype();
    if (dtype == f32 || dtype == f64) {
      _foreach_mul_(group, std::vector<Tensor>(group.size(), cast(here, dtype)));
      continue;
    }
    // The factor is none of the numbers that 16 bits hold.
    for (const Tensor& each : group)
      copy_(each, mul(is_complex(dtype) ? each : cast(each, f32), here));
  }
}

}  // namespace bp::amp
