// Running totals on devices of GPU shape, where groups of work-items share lines.
#pragma once

#include "kinds/reduction_space.hpp"
#include "kinds/reduction_text.hpp"
#include "kinds/team.hpp"

namespace bp::codegen {

// One call. The plan is that of outputs of the input's shape.
void scan_in_groups(const Operator& op, const Combine& combine, Dtype accumulator,
                    Invocation& invocation, const ReductionPlan& plan);

}  // namespace bp::codegen
