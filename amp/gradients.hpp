// What a scaler does with many gradients at once, on their device and without waiting for it.
#pragma once

#include <vector>

#include <backplane/optim/optimizer.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp::amp {

// Of the parameters that have one; each once.
std::vector<Tensor> gradients_of(const optim::Optimizer& optimizer);

// 1 if an element of one of them is infinite or NaN, else 0: float32, 0-dim, on the first one's device. There is at least one.
Tensor found_inf_in(const std::vector<Tensor>& gradients);

// Multiplies each, in place. `factor` is 0-dim, on any device.
void multiply_all(const std::vector<Tensor>& gradients, const Tensor& factor);

}  // namespace bp::amp
