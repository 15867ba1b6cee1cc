// SPIR-V to LLVM bitcode, for a device that takes only that.
#pragma once

#include <string>
#include <vector>

#include "opencl.hpp"

namespace over_opencl {

// By the program llvm-spirv-N, where N is the version of LLVM that the platform names. False, with what went wrong in
// `log`, if there is no such program or it does not take the module.
bool translate(const std::vector<uint32_t>& spirv, cl_platform_id platform, std::string& bitcode,
               std::string& log);

}  // namespace over_opencl
