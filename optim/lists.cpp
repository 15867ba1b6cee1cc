#include "lists.hpp"

#include <cmath>

#include <backplane/core_ops/generated/all.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::optim {

void assign(const Tensors& targets, const Tensors& values) {
  _foreach_zero_(targets);
  _foreach_add_(targets, values);
}

Tensors directed(const Batch& batch, bool maximize, double weight_decay) {
  Tensors grads = maximize ? _foreach_neg(batch.grads) : batch.grads;
  return weight_decay == 0 ? grads : _foreach_add(grads, batch.params, weight_decay);
}

void decay(const Tensors& params, double lr, double weight_decay) {
  if (weight_decay != 0) _foreach_mul_(params, 1 - lr * weight_decay);
}

void add_squares(const Tensors& means, const Tensors& values, double beta) {
  _foreach_mul_(means, beta);
  _foreach_addcmul_(means, values, values, 1 - beta);
}

std::vector<Places> places_by_shape(const Tensors& tensors) {
  return places_by(tensors,
                   [](const Tensor& a, const Tensor& b) { return a.shape() == b.shape(); });
}

std::vector<Places> places_by_device_and_dtype(const Tensors& tensors) {
  return places_by(tensors, [](const Tensor& a, const Tensor& b) {
    return a.device() == b.device() && a.dtype() == b.dtype();
  });
}

Tensors at_places(const Tensors& tensors, const Places& places) {
  Tensors found;
  for (const std::size_t place : places) found.push_back(tensors[place]);
  return found;
}

std::vector<Tensors> by_device_and_dtype(const Tensors& tensors) {
  std::vector<Tensors> lists;
  for (const Places& each : places_by_device_and_dtype(tensors))
    lists.push_back(at_places(tensors, each));
  return lists;
}

Tensor real_parts(const Tensor& tensor) {
  return is_complex(tensor.dtype()) ? view_as_real(detach(tensor)) : tensor;
}

void check_not_negative(const char* optimizer, const char* name, double value) {
  BP_CHECK(value >= 0, "{}: {} is {}; it must not be negative", optimizer, name, value);
  BP_CHECK(std::isfinite(value), "{}: {} is {}; it must be finite", optimizer, name, value);
}

void check_betas(const char* optimizer, const std::array<double, 2>& betas) {
  for (const double beta : betas)
    BP_CHECK(beta >= 0 && beta < 1, "{}: betas are {} and {}; each must be at least 0 and below 1",
             optimizer, betas[0], betas[1]);
}

}  // namespace bp::optim
