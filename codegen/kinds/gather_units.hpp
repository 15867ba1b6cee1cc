// gather and index_select on devices of GPU shape.
#pragma once

#include "device/invocation.hpp"
#include "kinds/walk.hpp"

namespace bp::codegen {

// Of `walk` over output, index and input; `along` and `size_along`: the input's stride and size in the dimension
// that indices count. False, with nothing done, for what the kernels' 31-bit numbers do not hold.
bool gather_by_units(Invocation& invocation, const Walk& walk, std::int64_t along,
                     std::int64_t size_along);

}  // namespace bp::codegen
