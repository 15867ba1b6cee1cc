// One call of PyTorch's, on its way through a plan.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <backplane/tensor/error.hpp>

#include "plan.hpp"

namespace bp::bridge {

// Takes the arguments from the stack and puts the results there, by the first of the plans that takes this call, else by PyTorch's
// CPU. Throws c10::Error for what went wrong on the device.
void serve_call(const std::vector<Plan>& plans, const c10::OperatorHandle& op,
                torch::jit::Stack* stack);

// In a handler: the sentence of an error by which a row refuses a call that another way may take. Throws for all others, late ones
// included, which are told once: PyTorch's exceptions.
std::string refusal_of(const Error& error);

// What whole numbers become where a result has to be real: PyTorch's choice, which a program may change at any time.
void take_default_dtype();

// False: it is complex, and does not fit a value.
bool put_number(bp_value& value, const c10::Scalar& number);

}  // namespace bp::bridge
