// A row's derivative without its call, for programs that keep records of their own.
#pragma once

#include <span>

#include <backplane/core_ops/arguments.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp {
struct Operator;

namespace autograd {

// The derivative by argument `place` of a call that is not made, weighted by `gradient`, by the row's rule. `args`: all
// arguments in the order of the schema. `results`: what the call gave, for rules that read it. Nothing is recorded.
// Threads: any.
// Throws bad_argument if the argument is not a tensor of the gradient's shape, dtype and device, and unsupported if the row has no
// rule for the argument, or the rule reads results that were not given.
BP_API Tensor pull_back(const Operator& op, std::span<const bp_value> args, std::uint32_t place,
                        const Tensor& gradient, std::span<const Tensor> results = {});

}  // namespace autograd
}  // namespace bp
