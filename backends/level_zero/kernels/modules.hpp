// Modules that were made when the plugin was built, which need no tool chain at run time.
#pragma once

#include <string_view>

namespace level_zero {

// The SPIR-V of kernels/matmul.cl.
std::string_view matmul_module();

}  // namespace level_zero
