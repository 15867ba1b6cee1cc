// Cases of relations: what has to hold between several calls, whatever the values are. One for each row and kind, in a
// dtype and shape that take turns; and the round trips that there are.
#include <algorithm>

#include <backplane/dispatcher/registry.hpp>
#include <backplane/tensor/error.hpp>

#include "cases/axes.hpp"
#include "cases/special_cases.hpp"
#include "inputs/problem.hpp"
#include "inputs/values.hpp"

namespace bp::conform {

// ---- Round trips

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

// ---- All relations

namespace {

constexpr std::size_t most_shapes_tried = 8;

Case usual_case(const RowCases& row, Dtype dtype, const std::string& shape) {
  const bool is_sample = shape.starts_with("sample:");
  const char* values = row.axes.values[0] == "positive" ? "positive" : is_sample ? "own" : "normal";
  Case one = case_of(row.op, dtype, shape, is_sample ? "own" : "plain", values, "");
  choose_telling_values(row.op, one);
  return one;
}

bool falls_apart(const Case& one) try {
  return split_of(make_problem(one), one.seed, one.form == "joined").has_value();
} catch (const Error&) {
  return false;
}

class Relations {
 public:
  explicit Relations(const RowCases& row) : row_(row), axes_(row.axes), turn_(row.turn()) {}

  void add_forms() {
    if (axes_.shapes.empty() || row_.op.is_view()) return;
    const std::size_t place = turn_ % std::min<std::size_t>(axes_.shapes.size(), 3);
    add(usual_case(row_, dtype_in_turn(), axes_.shapes[place]), "forms");
  }

  void add_layouts() {
    for (std::size_t i = 1; i < axes_.layouts.size(); ++i) {
      const std::string& layouts = axes_.layouts[(turn_ + i) % axes_.layouts.size()];
      // Values that lie in one place twice are other values.
      if (repeats_elements(layouts) || layouts == "plain" || layouts == "own") continue;
      Case one = usual_case(row_, dtype_in_turn(), axes_.shapes[0]);
      one.layouts = layouts;
      return add(one, "layouts");
    }
  }

  // The first of the row's shapes that has pieces.
  void add_parts(const char* form, std::size_t count, std::uint64_t seed) {
    for (std::size_t i = 0; i < std::min(axes_.shapes.size(), most_shapes_tried); ++i) {
      const std::string& shape = axes_.shapes[(turn_ + i) % axes_.shapes.size()];
      Case one = usual_case(row_, dtype_in_turn(), shape);
      one.form = form;
      one.seed = seed;
      // A special number alone may prove nothing.
      if (!falls_apart(one) || shape == "sample:specials") continue;
      row_.all.push_back(one);
      if (--count == 0) return;
    }
  }

 private:
  Dtype dtype_in_turn() { return axes_.dtypes[turn_++ % axes_.dtypes.size()]; }
  void add(Case one, const char* form) {
    one.form = form;
    row_.all.push_back(std::move(one));
  }

  const RowCases& row_;
  const Axes& axes_;
  std::size_t turn_;
};

// In plain layouts.
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

// Each round trip in each dtype; the first one in other layouts as well. A quick run has one for each row.
void add_round_trips(const RowCases& row) {
  std::string shape;
  for (const Case& one : round_trips_of(row.op)) {
    if (row.profile == Profile::quick) {
      if (std::ranges::find(row.axes.dtypes, one.dtype) == row.axes.dtypes.end()) continue;
      return row.all.push_back(one);
    }
    const bool is_first = one.shape != std::exchange(shape, one.shape);
    row.all.push_back(one);
    if (!is_first && row.profile != Profile::full) continue;
    for (const char* layout : {"transpose", "step2", "offset"}) {
      Case other = one;
      other.layouts = layout;
      row.all.push_back(other);
    }
  }
}

}  // namespace

void add_relations(const RowCases& row, std::uint64_t seed) {
  const Operator& op = row.op;
  add_round_trips(row);
  if (tensor_arguments(op) == 0 || !gives_the_same_again(op) || (op.flags & BP_OP_SHAPE_DATA))
    return;
  const bool is_quick = row.profile == Profile::quick;
  // A quick run asks each primitive row for one relation, in turn.
  if (is_quick && !(op.flags & BP_OP_PRIMITIVE)) return;
  const std::size_t turn = row.turn() % 4, count = row.profile == Profile::full ? 4 : 1;
  Relations relations(row);
  if (!is_quick || turn == 0) relations.add_forms();
  if (!is_quick || turn == 1) relations.add_layouts();
  if (!is_quick || turn == 2) relations.add_parts("batch", count, seed);
  if (!is_quick || turn == 3) relations.add_parts("joined", count, seed);
}

}  // namespace bp::conform
