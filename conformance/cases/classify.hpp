// What a case's name implies: level and family.
#pragma once

#include "cases/case.hpp"

namespace bp::conform {

// Fills in `level` and `family`.
void classify(Case& one);

}  // namespace bp::conform
