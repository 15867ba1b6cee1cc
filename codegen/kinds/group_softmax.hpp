// softmax and log_softmax on devices of GPU shape, where groups of work-items share lines.
#pragma once

#include "kinds/reduction_space.hpp"
#include "kinds/reduction_text.hpp"
#include "kinds/team.hpp"

namespace bp::codegen {

// One call. The plan is that of outputs of the input's shape.
void softmax_in_groups(const Operator& op, bool log, Invocation& invocation,
                       const ReductionPlan& plan);

}  // namespace bp::codegen
