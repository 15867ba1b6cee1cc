// <J v, w> = <v, J^T w>: a derivative against differences of the row itself, in float64.
#pragma once

#include <string>

#include "cases/case.hpp"
#include "inputs/problem.hpp"
#include "judge/expected.hpp"

namespace bp::conform {

// Does backward give a gradient by this tensor?
bool takes_part(const Problem& problem, std::size_t tensor);

// Empty, or a sentence with both sides. Says nothing of rows and values where differences say nothing (jumps, chance).
std::string check_identity(const Problem& problem, const Case& one, const Expected& expected,
                           const std::vector<Laid>& cotangents);

}  // namespace bp::conform
