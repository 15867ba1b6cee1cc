// The order of a SPIR-V function's blocks: the format requires each before those that it dominates, and LLVM's translator leaves
// them as LLVM had them, which requires no order.
#pragma once

#include <string>
#include <string_view>

namespace bp::codegen {

// The module with the blocks of each function in an order that is valid, and without OpLoopMerge: kernels need none, the
// translator makes several in one block, and clang's -O1 forbids with them to unroll any loop. One that is not whole comes back
// as it is.
std::string order_blocks(std::string_view module);

}  // namespace bp::codegen
