#include "cases/round_trips.hpp"

#include <backplane/dispatcher/registry.hpp>

#include "cases/axes.hpp"
#include "inputs/draft_problem.hpp"
#include "inputs/values.hpp"

namespace bp::conform {
namespace {

int integer_digits(Dtype dtype) {
  return dtype == boolean
             ? 1
             : 8 * static_cast<int>(itemsize(dtype)) - (is_signed_integer(dtype) ? 1 : 0);
}

// Complex numbers are judged by their parts.
bool holds_floats(Dtype wide, Dtype narrow) {
  if (is_complex(narrow) && !is_complex(wide)) return false;
  const FloatingFormat to = format_of(wide), from = format_of(narrow);
  return to.digits >= from.digits && to.highest_exponent >= from.highest_exponent &&
         to.smallest() <= from.smallest();
}

bool all_rows_have(const RoundTrip& trip, Dtype dtype) {
  for (const Statement& statement : read_program(trip.program)) {
    const Operator* op = find_operator(statement.op);
    if (op && op->kind != BP_KIND_VIEW && !contains(op->dtypes, dtype)) return false;
  }
  return true;
}

bool may_hold(const RoundTrip& trip, Dtype dtype) {
  if (!contains(trip.holds_in, dtype) || !all_rows_have(trip, dtype)) return false;
  if (!converts(*find_operator(trip.row))) return true;
  Dtype other = f32;
  const std::string_view shape = trip.shape;
  return dtype_of_short_name(shape.substr(shape.find('=') + 1), other) && other != dtype &&
         holds_all_of(other, dtype);
}

}  // namespace

bool holds_all_of(Dtype wide, Dtype narrow) {
  if (!holds_whole_numbers(narrow)) return !holds_whole_numbers(wide) && holds_floats(wide, narrow);
  if (!holds_whole_numbers(wide)) return format_of(wide).digits >= integer_digits(narrow);
  const bool loses_sign = is_signed_integer(narrow) && !is_signed_integer(wide);
  return !loses_sign && integer_digits(wide) >= integer_digits(narrow);
}

std::vector<Statement> read_program(std::string_view program) {
  std::vector<Statement> statements;
  for (const std::string& text : split_text(program, ';')) {
    Statement& statement = statements.emplace_back();
    bool is_result = false;
    for (const std::string& word : split_text(text, ' ')) {
      if (word.empty()) continue;
      if (word == ">")
        is_result = true;
      else if (word == "=" || word == "~")
        statement.arguments = {std::exchange(statement.op, word)};
      else if (statement.op.empty())
        statement.op = word;
      else
        (is_result ? statement.results : statement.arguments).push_back(word);
    }
  }
  return statements;
}

const RoundTrip* find_round_trip(const Case& one) {
  for (const RoundTrip& trip : round_trips())
    if (one.op == trip.row && one.shape == trip.shape && may_hold(trip, one.dtype)) return &trip;
  return nullptr;
}

std::vector<Case> round_trips_of(const Operator& op) {
  std::vector<Case> cases;
  for (const RoundTrip& trip : round_trips()) {
    if (trip.row != std::string_view(op.name())) continue;
    for (const Dtype dtype : dtypes_of(op.name()))
      if (may_hold(trip, dtype))
        cases.push_back(case_of(op, dtype, trip.shape, "plain", trip.values, "round_trip"));
  }
  return cases;
}

}  // namespace bp::conform
