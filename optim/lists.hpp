// What the updates of several optimizers are made of: lists of tensors, a call for each list.
#pragma once

#include <vector>

#include <backplane/core_ops/generated/foreach.hpp>
#include <backplane/optim/optimizer.hpp>

namespace bp::optim {

using Tensors = std::vector<Tensor>;

// Writes `values` over `targets`, which have their shapes.
void assign(const Tensors& targets, const Tensors& values);
// The gradients, turned around by `maximize`, plus `weight_decay` times the parameters.
Tensors directed(const Batch& batch, bool maximize, double weight_decay = 0);
// Takes weight_decay times lr off the parameters.
void decay(const Tensors& params, double lr, double weight_decay);
// means = beta * means + (1 - beta) * values * values.
void add_squares(const Tensors& means, const Tensors& values, double beta);

// Places in a list of tensors of one shape, so that they can be stacked.
std::vector<std::vector<std::size_t>> places_by_shape(const Tensors& tensors);
Tensors at_places(const Tensors& tensors, const std::vector<std::size_t>& places);

// Throws bad_argument unless `value` is not negative, and for NaN.
void check_not_negative(const char* optimizer, const char* name, double value);
// As Adam's: each in [0, 1).
void check_betas(const char* optimizer, const std::array<double, 2>& betas);

}  // namespace bp::optim
