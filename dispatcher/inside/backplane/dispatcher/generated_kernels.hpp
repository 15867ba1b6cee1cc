// Generated kernels: rung 3 is a library of its own, `libbackplane_codegen`, loaded when the first backend
// offers the extension "bp.compiler". Kernels for joined expressions come from "bp.program".
#pragma once

#include <backplane/dispatcher/operator.hpp>
#include <backplane/runtime/device_registry.hpp>

namespace bp {

// Lets codegen register kernels for a backend that can compile (bp.compiler). If the library is missing or broken, logs a
// warning, and the backend does without this rung.
void attach_codegen(Backend& backend);

// Asks a backend that offers bp.program for kernels of joined operators, until it closes.
void attach_programs(Backend& backend);

}  // namespace bp
