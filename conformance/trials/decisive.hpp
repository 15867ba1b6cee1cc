// Values that a case of one number can prove something with.
#pragma once

#include "cases/case.hpp"
#include "inputs/problem.hpp"
#include "judge/expected.hpp"

namespace bp::conform {

// The problem of a case. Where a tensor has one element, chance may draw a number of which nothing follows, as one whose
// power overflows; then the values are drawn again, the same ones for the same case.
Problem decisive_problem(const Case& one, const Numerics& numerics);

// Are all expected numbers of a large result alike, though the case is such that they should not be?
bool is_unvaried(const Case& one, const Problem& problem, const ExpectedTensor& expected);

}  // namespace bp::conform
