// Compares the results of one call on two devices.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <backplane/tracing/saved_call.hpp>

namespace bp::tracing {

// A sentence about the results of `op` that differ by more than its row's tolerance leaves to two that are both right;
// nothing if none does. Looks for kernels that are wrong: how accurate one is, the conformance suite says.
// `args` are the call's, as saved; `wanted` are results of the host.
BP_API std::optional<std::string> find_difference(const SavedCall& saved,
                                                  const std::vector<Tensor>& got,
                                                  const std::vector<Tensor>& wanted);

}  // namespace bp::tracing
