// Anomaly mode: nodes remember how they were called, and backward looks at what they give.
#pragma once

#include <string>

#include <backplane/dispatcher/operator.hpp>

#include "node.hpp"

namespace bp::autograd {

// "mul(f32[3, 4] on cpu:0, 2)"
std::string describe_call(const Call& call);

// node.apply in anomaly mode: its errors and its NaN name the forward call.
void apply_watched(Node& node, std::span<Tensor> gradients, std::span<Tensor> out);

}  // namespace bp::autograd
