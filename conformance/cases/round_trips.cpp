#include "cases/round_trips.hpp"

#include <algorithm>

#include <backplane/dispatcher/registry.hpp>

#include "cases/derive.hpp"
#include "inputs/draft_problem.hpp"
#include "inputs/element.hpp"
#include "judge/numbers.hpp"

namespace bp::conform {
namespace {

constexpr RoundTrip trips[] = {
    // Functions and their inverses
    {"neg", "s257", "normal", "neg r0 > b; t0 = b"},
    {"bitwise_not", "s257", "big", "bitwise_not r0 > b; t0 = b"},
    {"logical_not", "s257", "normal", "logical_not r0 > b; t0 = b", set_of(boolean)},
    {"bitwise_xor", "s16x16", "big", "bitwise_xor r0 t1 > b; t0 = b"},
    {"add", "s16x16", "exact", "sub r0 t1 > b; t0 = b", dtypes::real},
    {"reciprocal", "s257", "positive", "reciprocal r0 > b; t0 ~ b", dtypes::floating},
    {"exp", "s257", "normal", "log r0 > b; t0 ~ b", dtypes::floating},
    {"log", "s257", "positive", "exp r0 > b; t0 ~ b", dtypes::floating},
    {"expm1", "s257", "normal", "log1p r0 > b; t0 ~ b", dtypes::floating},
    {"sqrt", "s257", "positive", "square r0 > b; t0 ~ b", dtypes::floating},
    {"square", "s257", "positive", "sqrt r0 > b; t0 ~ b", dtypes::floating},
    // One row by others
    {"floor", "s257", "near", "neg t0 > n; ceil n > c; neg c > d; r0 = d", dtypes::floating},
    {"maximum", "s16x16", "exact", "minimum t0 t1 > m; add r0 m > s; add t0 t1 > u; s = u",
     dtypes::real},
    {"eq", "s16x16", "specials", "ne t0 t1 > n; logical_not n > e; r0 = e"},
    {"lt", "s16x16", "specials", "gt t1 t0 > g; r0 = g"},
    {"le", "s16x16", "specials", "ge t1 t0 > g; r0 = g"},
    {"matmul", "m17k65n3", "exact",
     "transpose t0 0 1 > a; transpose t1 0 1 > b; matmul b a > c; transpose c 0 1 > d; r0 = d",
     dtypes::real},
    {"argmax", "s5x257:dim=1:keepdim=true", "normal",
     "gather t0 1 r0 > g; max t0 [1] true > m; m = g", dtypes::real},
    {"cumsum", "s5x129:dim=1", "exact", "narrow r0 1 128 1 > e; sum t0 [1] true > s; s = e",
     set_of(f32, f64, i64)},
    {"embedding", "s6x4,5", "duplicates", "index_select t0 0 t1 > g; r0 = g"},
    {"one_hot", "s129:num_classes=5", "normal", "argmax r0 1 false > a; t0 = a", set_of(i64)},
    // There and back in memory
    {"cast", "s257:dtype=f64", "specials", "cast r0 dtype > b; t0 = b"},
    {"cast", "s257:dtype=f32", "specials", "cast r0 dtype > b; t0 = b"},
    {"cast", "s257:dtype=i64", "big", "cast r0 dtype > b; t0 = b"},
    {"cast", "s257:dtype=complex64", "normal", "cast r0 dtype > b; t0 = b"},
    {"copy", "s16x17", "specials",
     "narrow t0 1 0 5 > y; narrow t0 1 5 12 > z; cat {y,z} 1 > w; r0 = w; t0 = w"},
    {"transpose", "s3x5x7:dim0=0:dim1=2", "specials", "copy r0 > y; transpose y 0 2 > z; t0 = z"},
    {"permute", "s3x5x7:dims=2x0x1", "specials", "copy r0 > y; permute y [1,2,0] > z; t0 = z"},
    {"reshape", "s3x5x7:shape=15x7", "specials", "copy r0 > y; reshape y [3,5,7] > z; t0 = z"},
    {"cat", "s3x5+2x5+4x5:dim=0", "specials",
     "narrow r0 0 0 3 > a; narrow r0 0 3 2 > b; narrow r0 0 5 4 > c; t0 = a; t1 = b; t2 = c"},
    {"stack", "s3x5+3x5:dim=1", "specials", "select r0 1 0 > a; select r0 1 1 > b; t0 = a; t1 = b"},
    {"flip", "s3x5x7:dims=0x2", "specials", "flip r0 [0,2] > b; t0 = b"},
    {"roll", "s3x5x7:shifts=2x-3:dims=0x2", "specials", "roll r0 [-2,3] [0,2] > b; t0 = b"},
    {"repeat", "s3x5:repeats=2x1", "specials", "narrow r0 0 3 3 > b; t0 = b"},
    {"constant_pad_nd", "s4x6:pad=2x3x1x0", "specials",
     "narrow r0 0 1 4 > a; narrow a 1 2 6 > b; t0 = b"},
    {"gather", "s5x33,3x33:dim=0", "duplicates", "scatter t0 0 t1 r0 > s; t0 = s"},
    {"sort", "s4x33:dim=1", "ties", "gather t0 1 r1 > g; r0 = g; scatter t0 1 r1 g > s; t0 = s"},
    {"topk", "s5x257:k=7", "ties", "gather t0 1 r1 > g; r0 = g"},
};

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
  if (std::string_view(trip.row) != "cast") return true;
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
  const auto found = std::find_if(std::begin(trips), std::end(trips), [&](const RoundTrip& trip) {
    return one.op == trip.row && one.shape == trip.shape && may_hold(trip, one.dtype);
  });
  return found == std::end(trips) ? nullptr : found;
}

std::vector<Case> round_trips_of(const Operator& op) {
  std::vector<Case> cases;
  for (const RoundTrip& trip : trips) {
    if (trip.row != std::string_view(op.name())) continue;
    for (const Dtype dtype : dtypes_of(op.name())) {
      if (!may_hold(trip, dtype)) continue;
      Case& one = cases.emplace_back();
      one.op = trip.row;
      one.dtype = dtype;
      one.shape = trip.shape;
      one.layouts = "plain";
      one.values = trip.values;
      one.form = "round_trip";
    }
  }
  return cases;
}

}  // namespace bp::conform
