// Chooses between a kernel that declares BP_KERNEL_MEASURED and its rivals.
#pragma once

#include <backplane/dispatcher/frame.hpp>

namespace bp {

// If a measured kernel and another one both take the call, runs the one that was faster for such calls, and returns
// it. If that is not known yet, measures both on this call, unless it is not worth it or the caller must not wait;
// the other one then runs. Null if there are not two such kernels, or if neither took the call after all.
const Candidate* try_measured(Frame& frame, const KernelTable& table);

}  // namespace bp
