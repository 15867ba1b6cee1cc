// A smaller program that is wrong in the same way.
#pragma once

#include <functional>

#include "autograd/programs/program.hpp"

namespace bp::test::programs {

// `is_found` says whether a program, which may not be a program at all, still shows what was found.
Program shrink(Program program, const std::function<bool(const Program&)>& is_found);

}  // namespace bp::test::programs
