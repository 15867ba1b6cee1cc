// What a case's name implies: level and family.
#pragma once

#include "cases/case.hpp"

namespace bp::conform {

// Fills in `level` and `family`.
void classify(Case& one);

// Is a dimension past the sizes at which kernels change their way?
bool is_large(const Case& one);

// A row whose shape depends on data may go to the host and count as native: the host has to know the shape anyway.
bool is_excused_row(const std::string& op);

}  // namespace bp::conform
