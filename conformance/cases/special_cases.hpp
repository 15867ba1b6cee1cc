// Cases that no crossing of axes gives.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/dispatcher/operator.hpp>
#include <backplane/samples/row_facts.hpp>

#include "cases/axes.hpp"
#include "cases/case.hpp"
#include "cases/subject.hpp"

namespace bp::conform {

// Calls that must be refused, all 65,536 inputs of 16 bits, elements 2 GiB apart, derivatives, stress.
void add_special_cases(const RowCases& row);

// How much is asked past the sizes at which kernels change their way.
enum class Thoroughness : std::uint8_t {
  little,  // the host computes, or other rows do: the largest size of each dimension
  some,    // and others in turn
  most,    // each size of the first dimension, others in turn
  all,     // each size of each dimension
};
// `takes` is asked of each case, with a small size in the place of the large one; empty: all are.
using Takes = std::function<bool(const Case& one)>;
void add_large_cases(const RowCases& row, Thoroughness thoroughness, const Takes& takes = {});
// Shapes and values that belong together, in every dtype.
void add_deciding_cases(const RowCases& row);

// What has to hold between several calls. `seed`: of the cases, whose values decide with it.
void add_relations(const RowCases& row, std::uint64_t seed);
inline bool is_relation(std::string_view form) {
  return is_one_of(form, {"forms", "layouts", "batch", "joined", "round_trip"});
}

// What the plugin's kernels get.
void add_direct_cases(const RowCases& row, const Subject& subject);

// What core_ops/table says of a row under `returns`: the row is called first, with the tensors t0, t1 ... that shape and
// values make, and gives r0, r1 ... Then come statements: "op argument ... > result ..." or "a = b" (the same bits; NaN is
// NaN) or "a ~ b" (b is what an inverse function made of r0: as near to a as the bounds of both rows leave it).

// Null where the case is none.
const RoundTrip* find_round_trip(const Case& one);

struct Statement {
  std::string op;                      // "=", "~", or a row
  std::vector<std::string> arguments;  // names, numbers, lists "[1,2]", "{a,b}", "true", "dtype"
  std::vector<std::string> results;
};
std::vector<Statement> read_program(std::string_view program);

// Does each number of the one dtype have an exact place in the other?
bool holds_all_of(Dtype wide, Dtype narrow);

}  // namespace bp::conform
