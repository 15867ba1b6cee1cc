// Cases that no crossing of axes gives.
#pragma once

#include <vector>

#include "cases/axes.hpp"
#include "cases/subject.hpp"

namespace bp::conform {

// Calls that must be refused, all 65,536 inputs of 16 bits, elements 2 GiB apart, derivatives, stress.
void add_special_cases(const Operator& op, const Axes& axes, Profile profile,
                       std::vector<Case>& out);

// What has to hold between several calls. `seed`: of the cases, whose values decide with it.
void add_relations(const Operator& op, const Axes& axes, Profile profile, std::uint64_t seed,
                   std::vector<Case>& out);
bool is_relation(std::string_view form);

// What the plugin's kernels get.
void add_direct_cases(const Operator& op, const Axes& axes, Profile profile, const Subject& subject,
                      std::vector<Case>& out);

}  // namespace bp::conform
