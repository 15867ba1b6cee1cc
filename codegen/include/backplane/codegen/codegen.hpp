// Kernels from the operator table, for devices that can compile. An application needs none of this:
// libbackplane loads it when a backend offers the extension "bp.compiler". What follows is for tools
// and tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/runtime/device_registry.hpp>

extern "C" {
// Registers a generated kernel for every operator, those to come included, with `backend`, which offers
// "bp.compiler". Nothing is compiled yet. Undone when the backend closes.
BP_API void bp_codegen_attach(bp::Backend* backend);
}

namespace bp::codegen {

// What has been built in this process so far, over all devices.
struct BuildCounts {
  std::uint64_t compiled = 0;    // by a device's compiler
  std::uint64_t from_cache = 0;  // loaded from disk
};
BP_API BuildCounts build_counts();

// The sources that an operator's kernels were given to the device's compiler in, so far: for a person
// who reads them.
struct GeneratedSource {
  std::string name, language, text;
};
BP_API std::vector<GeneratedSource> generated_sources(Device device);
// Compiles OpenCL C for a device that takes only SPIR-V. Throws unsupported naming the
// program that is missing.
BP_API std::string spirv_of(const GeneratedSource& source);

}  // namespace bp::codegen
