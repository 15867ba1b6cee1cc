// Rung 3 comes from a library of its own, `libbackplane_codegen`, which is loaded when the first backend
// offers the extension "bp.compiler"; and kernels for joined expressions from "bp.program".
#pragma once

#include <backplane/dispatcher/operator.hpp>
#include <backplane/runtime/device_registry.hpp>

namespace bp {

// Lets codegen register kernels for a backend that can compile (bp.compiler). A library that is missing or broken is
// a warning: the backend then lives without this rung.
void attach_codegen(Backend& backend);

// Asks a backend that offers bp.program for kernels of joined operators, until it closes.
void attach_programs(Backend& backend);

}  // namespace bp
