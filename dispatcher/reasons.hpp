// Why calls are served by slower rungs, in words for the author of the kernels.
#pragma once

#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/frame.hpp>

namespace bp {

// Keeps the reason of the first such call of the operator on the backend; see call_reasons().
void keep_reason(const Frame& frame, Rung rung);

}  // namespace bp
