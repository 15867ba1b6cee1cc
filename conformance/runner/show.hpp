// A case in full, for a person: its arguments, what a worker was asked and answered, what was expected.
#pragma once

#include <vector>

#include "cases/case.hpp"
#include "cases/subject.hpp"
#include "protocol/script.hpp"

namespace bp::conform {

void show_case(const Case& one, const Subject& subject, const std::vector<Json>& scripts,
               const std::vector<Json>& answers);
// How each result is decided: the sentence, and its bounds.
void show_rules(const Case& one, const Subject& subject);

}  // namespace bp::conform
