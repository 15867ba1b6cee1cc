// By what a failing record was found: the case's own question, or an instrument that watches every case.
#pragma once

#include <set>
#include <string>

#include "runner/journal.hpp"

namespace bp::conform {

// The families that a case stands for by its name, whatever comes of it: "layout", "cancellation", "2^53" ...
std::set<std::string> families_of_case(const Case& one);
// And those that its failure adds: "red zone", "checksum", "poison", "counters", "isolation", "honesty", "flaky" ...
std::set<std::string> families_of_kill(const Record& record);

}  // namespace bp::conform
