// OpenCL C to SPIR-V 1.2, by clang, opt and the LLVM translator as programs: for devices that take nothing
// else. Each is looked for in PATH as name-19 to name-14 and plain, all three of one version where that is
// possible, or named by $BACKPLANE_CLANG, $BACKPLANE_OPT and $BACKPLANE_LLVM_SPIRV.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace bp::codegen {

// How it is done, for the keys of kept binaries; it changes whenever that changes.
inline constexpr std::string_view spirv_recipe =
    "clang without passes, inlining allowed, mad as fma, blocks in order, loops free";

// The module's bytes. Throws unsupported naming the program that is missing, or internal with the log of
// the one that failed or did not end within the limit. Threads: any.
std::string to_spirv(std::string_view opencl_c, std::chrono::seconds limit);

}  // namespace bp::codegen
