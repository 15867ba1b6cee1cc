// Copies that turn rows into columns, on processors: in small blocks, so that each line of the cache that
// is read is used up before it leaves.
#pragma once

#include <string>

#include "device/invocation.hpp"

namespace bp::codegen {

// False, with nothing done, unless the output runs along one dimension and the input along another, for
// elements of 1 to 8 bytes and long enough rows.
bool transpose(Invocation& invocation, const std::string& name, const bp_tensor& out,
               const bp_tensor& from);

}  // namespace bp::codegen
