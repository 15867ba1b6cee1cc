// The tables of modules by family: each file here has one, and run_modules.cpp joins them.
#pragma once

#include "pytorch/modules/module_case.hpp"

namespace bp::test {

Makers linear_modules();

}  // namespace bp::test
