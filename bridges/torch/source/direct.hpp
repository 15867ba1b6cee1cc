// Elementwise operators of one or two tensors, which programs call most, without PyTorch's stack of values: that costs a quarter of a
// call of few elements.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <optional>
#include <torch/library.h>
#include <vector>

#include "plan.hpp"

namespace bp::bridge {

// A kernel that makes the call by the first plan where its tensors are plain ones of one device, and otherwise puts it on the stack for
// serve_call. Nothing if the operator has other arguments, or no pointwise row serves it. `plans` and `op` outlive the kernel.
std::optional<torch::CppFunction> direct_kernel(const c10::OperatorHandle& op,
                                                const std::vector<Plan>& plans);

}  // namespace bp::bridge
