// Rung 3 comes from a library of its own, `libbackplane_codegen`, which is loaded when the first backend
// offers the extension "bp.compiler"; and kernels for joined expressions from "bp.program".
#pragma once

#include <backplane/dispatcher/operator.hpp>
#include <backplane/runtime/device_registry.hpp>

namespace bp {

// The backend's extension, or null; `least_bytes` is what it had in 1.0. What came later is asked for with BP_HAS.
const bp_header* find_extension(const Backend& backend, const char* name, std::uint32_t version,
                                std::size_t least_bytes);

// Lets codegen register kernels for a backend that can compile. A library that is missing or broken is
// a warning: the backend then lives without this rung.
void attach_codegen(Backend& backend);

// Asks the backend for kernels of expressions that came after it (bp.program).
void attach_programs(Backend& backend);
void detach_programs(const Backend& backend);

}  // namespace bp
