// The fallback ladder: decides who serves a call that has been checked and prepared.
#pragma once

#include <backplane/dispatcher/frame.hpp>

namespace bp {

// Tries the rungs in order and leaves the results in frame.call.results. If none can serve the call, throws
// unsupported and says what is missing and what exists.
void climb(Frame& frame);

// Rung 2. Converts dtypes (losslessly) and layouts for one of the backend's kernels; false if conversion makes
// none of them fit.
bool try_legalized(Frame& frame, const KernelTable& table);

// The dtypes to which rung 2 may convert `from`.
DtypeSet lossless_targets(Dtype from);

// Rung 4. Runs the decomposition; false if there is none, or if part of it cannot run on the device.
bool try_decomposed(Frame& frame);

// The operators that the call's decomposition comes down to and that lack a kernel, so that it cannot be decomposed on its
// device. Empty if none is known.
std::vector<std::string> missing_parts(const Frame& frame);

// Rung 5. Runs the whole operator on the host; false if there is no host device.
bool try_host(Frame& frame);

// Whether the backend has a kernel, its own or a generated one, that takes tensors of this dtype in any dense
// layout.
bool has_kernel(const Operator& op, std::uint32_t backend, Dtype dtype);

}  // namespace bp
