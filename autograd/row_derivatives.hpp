// Which row has which derivative. The tables are generated from the rows' `grad`.
#pragma once

#include <backplane/dispatcher/operator.hpp>

#include "derivative.hpp"

namespace bp::autograd {

void register_row_derivatives();

// Null: none is known.
inline const Derivative* derivative_of(const Operator& op) {
  return static_cast<const Derivative*>(op.derivative.load(std::memory_order_acquire));
}

}  // namespace bp::autograd
