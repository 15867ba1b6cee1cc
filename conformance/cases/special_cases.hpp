// Cases that no crossing of axes gives.
#pragma once

#include <functional>
#include <vector>

#include "cases/axes.hpp"
#include "cases/subject.hpp"

namespace bp::conform {

// Calls that must be refused, all 65,536 inputs of 16 bits, elements 2 GiB apart, derivatives, stress.
void add_special_cases(const Operator& op, const Axes& axes, Profile profile,
                       std::vector<Case>& out);

// How much is asked past the sizes at which kernels change their way.
enum class Thoroughness : std::uint8_t {
  little,  // the host computes, or other rows do: the largest size of each dimension
  some,    // and others in turn
  most,    // each size of the first dimension, others in turn
  all,     // each size of each dimension
};
// `takes` is asked of each case, with a small size in the place of the large one; empty: all are.
using Takes = std::function<bool(const Case& one)>;
void add_large_cases(const Operator& op, const Axes& axes, Profile profile,
                     Thoroughness thoroughness, const Takes& takes, std::vector<Case>& out);
// Shapes and values that belong together, in every dtype.
void add_deciding_cases(const Operator& op, const Axes& axes, Profile profile,
                        std::vector<Case>& out);

// What has to hold between several calls. `seed`: of the cases, whose values decide with it.
void add_relations(const Operator& op, const Axes& axes, Profile profile, std::uint64_t seed,
                   std::vector<Case>& out);
bool is_relation(std::string_view form);

// What the plugin's kernels get.
void add_direct_cases(const Operator& op, const Axes& axes, Profile profile, const Subject& subject,
                      std::vector<Case>& out);

}  // namespace bp::conform
