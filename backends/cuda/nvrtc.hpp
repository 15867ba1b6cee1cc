// NVIDIA's compiler at run time: CUDA C++ to machine code for one kind of card. Needs no card and no driver.
#pragma once

#include <string>

#include <backplane/extensions/compiler.h>
#include <backplane/plugin.hpp>

namespace cuda_backend::nvrtc {

// "NVRTC 13.0", and the options that every source gets: what machine code depends on besides source and card.
std::string identity();

// Machine code for cards of `architecture`, 10 * major + minor of the compute capability. The library is opened when
// first asked for. Threads: any, also at once.
bp::Result<std::string> compile(const bp_source& source, int architecture);

}  // namespace cuda_backend::nvrtc
