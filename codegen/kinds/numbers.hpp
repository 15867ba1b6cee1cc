// Numbers of a call (Scalar arguments, numbers in place of tensors) on their way into a kernel: converted
// on the host as the cpu backend does it, so that devices without f64 take them too.
#pragma once

#include <string>

#include "device/invocation.hpp"
#include "dialect/dialect.hpp"

namespace bp::codegen {

// The member of a kernel's values for a number of this dtype; complex ones are two.
Field number_field(std::string name, Dtype dtype);
// Appends `value`, a number, in the computing type of `dtype`: what number_field() has room for.
void add_number(Values& values, const bp_value& value, Dtype dtype);
// The number as an expression of the dialect, in the computing type of `dtype`; `member` as in "v.n0".
std::string number_text(const std::string& member, Dtype dtype);
// Is it the number 1?
bool is_one(const bp_value& value);

}  // namespace bp::codegen
