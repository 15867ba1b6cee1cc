// What the updates of several optimizers are made of: lists of tensors, a call for each list.
#pragma once

#include <vector>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/generated/foreach.hpp>
#include <backplane/optim/alike.hpp>
#include <backplane/optim/optimizer.hpp>

namespace bp::optim {

// While one lives, this thread's calls are neither recorded nor cast.
class Apart {
  NoGrad unrecorded_;
  ExcludeLayers uncast_{key_of(Layer::autocast)};
};

// Writes `values` over `targets`, which have their shapes.
void assign(const Tensors& targets, const Tensors& values);
// The gradients, turned around by `maximize`, plus `weight_decay` times the parameters.
Tensors directed(const Batch& batch, bool maximize, double weight_decay = 0);
// Takes weight_decay times lr off the parameters.
void decay(const Tensors& params, double lr, double weight_decay);
// means = beta * means + (1 - beta) * values * values.
void add_squares(const Tensors& means, const Tensors& values, double beta);

// Of one shape, so that they can be stacked.
std::vector<Places> places_by_shape(const Tensors& tensors);

// What step() begins with. Throw bad_argument for a parameter whose elements share memory, as expand() makes it, and for a
// gradient of another shape, dtype or device than its parameter's.
void check_is_writable(const std::string& optimizer, std::size_t index, const Tensor& parameter);
void check_gradient_fits(const std::string& optimizer, std::size_t index, const Tensor& parameter,
                         const Tensor& gradient);
// Throws bad_argument if `value` is negative, infinite or NaN.
void check_not_negative(const char* optimizer, const char* name, double value);
// As Adam's: each in [0, 1).
void check_betas(const char* optimizer, const std::array<double, 2>& betas);

}  // namespace bp::optim
