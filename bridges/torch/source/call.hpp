// One call of PyTorch's, on its way through a plan.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "plan.hpp"

namespace bp::bridge {

// Takes the arguments from the stack and puts the results there, by the first of the plans that takes this call, else by PyTorch's
// CPU. Throws c10::Error for what went wrong on the device.
void serve_call(const std::vector<Plan>& plans, const c10::OperatorHandle& op,
                torch::jit::Stack* stack);

// What whole numbers become where a result has to be real: PyTorch's choice, which a program may change at any time.
void take_default_dtype();

// False: it is complex, and does not fit a value.
bool put_number(bp_value& value, const c10::Scalar& number);

}  // namespace bp::bridge
