// Explains to the author of the kernels why calls are served by slower rungs.
#pragma once

#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/frame.hpp>

namespace bp {

// Records why the first such call of the operator on the backend took this rung; see call_reasons().
void keep_reason(const Frame& frame, Rung rung);

}  // namespace bp
