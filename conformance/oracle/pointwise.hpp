// Pointwise rows by the expressions that the table has for them.
#pragma once

#include <backplane/plugin.hpp>

namespace oracle {

// A kernel for each operator of the host that has an expression and is pointwise.
bp::Status register_expressions();
// When the plugin is shut down.
void forget_expressions();

}  // namespace oracle
