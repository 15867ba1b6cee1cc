// Kernels that say BP_KERNEL_MEASURED against their rivals.
#pragma once

#include <backplane/dispatcher/frame.hpp>

namespace bp {

// If a measured kernel and another both take the call, runs the one that was faster for calls like it, and returns
// it. What is not decided yet is measured on this call, unless that would wait where nobody may wait, or is not
// worth it; then the other runs. Null: there are no two, or neither took the call after all.
const Candidate* try_measured(Frame& frame, const KernelTable& table);

}  // namespace bp
