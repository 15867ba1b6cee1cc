// Round trips: programs of a few calls, after which something is as it was, or as another way makes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <backplane/dispatcher/operator.hpp>
#include <backplane/samples/row_facts.hpp>

#include "cases/case.hpp"

namespace bp::conform {

// What core_ops/table says of a row under `returns`: the row is called first, with the tensors t0, t1 ... that shape and
// values make, and gives r0, r1 ... Then come statements: "op argument ... > result ..." or "a = b" (the same bits; NaN is
// NaN) or "a ~ b" (b is what an inverse function made of r0: as near to a as the bounds of both rows leave it).

// Null where the case is none.
const RoundTrip* find_round_trip(const Case& one);
// The cases that there are, in plain layouts.
std::vector<Case> round_trips_of(const Operator& op);

struct Statement {
  std::string op;                      // "=", "~", or a row
  std::vector<std::string> arguments;  // names, numbers, lists "[1,2]", "{a,b}", "true", "dtype"
  std::vector<std::string> results;
};
std::vector<Statement> read_program(std::string_view program);

// Does each number of the one dtype have an exact place in the other?
bool holds_all_of(Dtype wide, Dtype narrow);

}  // namespace bp::conform
