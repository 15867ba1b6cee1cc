// What no row serves: PyTorch's own CPU kernels do it, with copies there and back, and every such call is counted.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bp::bridge {

// Runs the call on the CPU. Throws c10::NotImplementedError naming the operator, and `why` a row did not take the call, where
// the process is strict.
void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack, const std::string& why);

// No call may go to the CPU from now on, or it may again. Of the process; BACKPLANE_TORCH_STRICT=1 begins with true.
void set_strict(bool strict);
bool is_strict();

// How often each operator went to the CPU, by name.
std::vector<std::pair<std::string, std::int64_t>> fallback_counts();
void reset_fallback_counts();

}  // namespace bp::bridge
