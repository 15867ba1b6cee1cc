// The fallback ladder: who serves a call that has been checked and prepared.
#pragma once

#include <backplane/dispatcher/frame.hpp>

namespace bp {

// Tries the rungs in order and leaves the results in frame.call.results. Throws unsupported, with
// what was missing and what exists, when none can serve.
void climb(Frame& frame);

// Rung 2. Converts dtypes (losslessly) and layouts for one of the backend's kernels; false if there
// is none that conversion would help.
bool try_legalized(Frame& frame, const KernelTable& table);

// What rung 2 may convert from `from` to.
DtypeSet lossless_targets(Dtype from);

// Rung 4. Runs the decomposition; false if there is none, or if part of it would not run on the device.
bool try_decomposed(Frame& frame);

// Which operators without a kernel keep the call from being decomposed on its device: those that its decomposition comes
// down to. Empty if it has none that is known.
std::vector<std::string> missing_parts(const Frame& frame);

// Rung 5. Runs the whole operator on the host; false if there is no host device.
bool try_host(Frame& frame);

// Has the backend a kernel, its own or a generated one, that takes tensors of this dtype in any dense
// layout?
bool has_kernel(const Operator& op, std::uint32_t backend, Dtype dtype);

}  // namespace bp
