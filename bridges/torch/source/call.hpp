// One call of PyTorch's, on its way through a plan.
#pragma once

#include <ATen/core/stack.h>

#include "plan.hpp"

namespace bp::bridge {

// Takes the arguments from the stack and puts the results there. False, and nothing has changed, where the target does not
// take this call; `why` says it then. Throws c10::Error for what went wrong on the device.
bool run_plan(const Plan& plan, torch::jit::Stack& stack, std::string& why);

}  // namespace bp::bridge
