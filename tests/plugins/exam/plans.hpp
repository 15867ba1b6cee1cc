// Kernels that plan: as a benign variant all of them, and one that does something wrong.
#pragma once

#include <backplane/abi.h>

namespace exam {

bool makes_plans(const bp_kernel& inner);
// `kernel.self` is the correct kernel.
void make_planned(bp_kernel& kernel);

}  // namespace exam
