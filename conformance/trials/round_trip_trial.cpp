// A round trip: a few calls, each on what the one before gave, after which something is as it was.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <map>

#include <backplane/dispatcher/registry.hpp>

#include "cases/round_trips.hpp"
#include "inputs/problem.hpp"
#include "inputs/values.hpp"
#include "judge/calls.hpp"
#include "trials/row_trials.hpp"

namespace bp::conform {
namespace {

// The first element (part of a complex one) that differs, NaN being NaN, and what is below `zero_below` being 0 where a
// plugin declares so; -1: none.
std::ptrdiff_t first_difference(const Bytes& a, const Bytes& b, Dtype dtype, double zero_below) {
  const std::size_t width = itemsize(dtype) / parts_of(dtype), count = a.size() / itemsize(dtype);
  const std::vector<double> x = to_doubles(a.data(), count, dtype),
                            y = to_doubles(b.data(), count, dtype);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::memcmp(a.data() + i * width, b.data() + i * width, width) == 0) continue;
    const bool are_flushed = std::fabs(x[i]) < zero_below && std::fabs(y[i]) < zero_below;
    if (has_fractions(dtype) && ((std::isnan(x[i]) && std::isnan(y[i])) || are_flushed)) continue;
    return static_cast<std::ptrdiff_t>(i);
  }
  return -1;
}

class RoundTripTrial : public Chain {
 public:
  RoundTripTrial(const Case& one, const Subject& subject) : Chain(one, subject) {
    const RoundTrip* trip = find_round_trip(one);
    if (!trip) refuse_case(one, "no round trip of this row, shape and dtype");
    program_ = trip->program;
    statements_ = read_program(program_);
  }

  void prepare() override {
    for (const Statement& statement : statements_)
      if (statement.op == "~") nearness_ = nearness_of(statement);
  }

 protected:
  void build(Json& script) override {
    objects_.clear();
    checks_.clear();
    for (std::size_t t = 0; t < problem_.tensors.size(); ++t)
      objects_["t" + std::to_string(t)] = static_cast<int>(t);
    for (std::size_t r = 0; r < num_results(); ++r)
      objects_["r" + std::to_string(r)] = object_at(first_result, r);
    for (const Statement& statement : statements_)
      if (statement.op != "=" && statement.op != "~") add_statement(script, statement);
    for (const Statement& statement : statements_) {
      if (statement.op != "=" && statement.op != "~") continue;
      const std::size_t first = add_values(script, objects_.at(statement.arguments[0]));
      checks_.push_back(
          {first, add_values(script, objects_.at(statement.arguments[1])), statement.op == "~",
           fmt::format("{} {} {}", statement.arguments[0], statement.op, statement.arguments[1])});
    }
  }

  void judge_values(Verdict& verdict, const Json& answer) override {
    for (const Check& check : checks_) {
      const auto* first = take_values(verdict, answer, check.first, check.what);
      const auto* second = take_values(verdict, answer, check.second, check.what);
      if (!first || !second || verdict.outcome != Outcome::pass) return;
      if (check.is_near)
        judge_result(verdict, *second, nearness_, check.what);
      else
        judge_equal(verdict, result_of(answer, check.first), result_of(answer, check.second),
                    check.what);
    }
    const std::string rule = nearness_.rule.empty() ? "the same bits" : nearness_.rule;
    verdict.rule = fmt::format("after '{}': {}", program_, rule);
  }

 private:
  struct Check {
    std::size_t first, second;
    bool is_near;
    std::string what;
  };

  Json argument_of(const std::string& text) const {
    if (const auto found = objects_.find(text); found != objects_.end())
      return {{"tensor", found->second}};
    if (text == "dtype") return {{"dtype", short_name(one_.dtype)}};
    if (text == "true" || text == "false") return {{"b", text == "true"}};
    const std::string_view inner =
        text.size() >= 2 ? std::string_view(text).substr(1, text.size() - 2) : std::string_view();
    if (text[0] == '{') {
      Json tensors = Json::array();
      for (const std::string& each : split_text(inner, ',')) tensors.push_back(objects_.at(each));
      return {{"tensors", tensors}};
    }
    if (text[0] == '[') {
      Sizes list;
      for (const std::string& each : split_text(inner, ',')) list.push_back(std::stoll(each));
      return {{"ints", list}};
    }
    return {{"i", std::stoll(text)}};
  }

  void add_statement(Json& script, const Statement& statement) {
    Json arguments = Json::array();
    for (const std::string& text : statement.arguments) arguments.push_back(argument_of(text));
    const std::vector<int> results =
        add_call(script, statement.op, std::move(arguments), statement.results.size());
    for (std::size_t i = 0; i < results.size(); ++i) objects_[statement.results[i]] = results[i];
  }

  void judge_equal(Verdict& verdict, const Json& first, const Json& second,
                   const std::string& what) const {
    if (first["shape"] != second["shape"] || first["dtype"] != second["dtype"])
      return fail_with(verdict, "{}: {} {} against {} {}", what, first["dtype"].get<std::string>(),
                       first["shape"].dump(), second["dtype"].get<std::string>(),
                       second["shape"].dump());
    const Dtype dtype = dtype_from_name(first["dtype"].get_ref<const std::string&>());
    const bool flushes = subject_.numerics.flushes_denormals && has_fractions(dtype) &&
                         format_of(dtype).lowest_exponent == format_of(f32).lowest_exponent;
    const double zero_below = flushes ? format_of(dtype).smallest_normal() : 0;
    const std::ptrdiff_t at =
        first_difference(*bytes_of(first), *bytes_of(second), dtype, zero_below);
    if (at >= 0)
      fail_with(verdict, "{}: other bits in element {} of {}", what,
                static_cast<std::size_t>(at) / parts_of(dtype), first["shape"].dump());
  }

  // The oracle's inverse of what is one bound off r0, and the inverse's own bound.
  ExpectedTensor nearness_of(const Statement& statement) const {
    const auto inverse =
        std::find_if(statements_.begin(), statements_.end(), [&](const Statement& each) {
          return !each.results.empty() && each.results[0] == statement.arguments[1];
        });
    const Expected there = expect(problem_, one_, subject_.numerics, false);
    const ExpectedTensor& middle = there.results.at(0);
    ExpectedTensor back;
    back.dtype = problem_.tensors.at(0).dtype;
    back.shape = problem_.tensors[0].shape;
    Laid plain = problem_.tensors[0];
    plain.storage = packed_elements(plain);
    plain.strides = row_major_strides(plain.shape);
    plain.offset = 0;
    back.wide = laid_out_wide(plain, std::nullopt);
    const std::vector<double> wanted = doubles_of(back.wide);
    back.bound.assign(wanted.size(), 0);
    const FloatingFormat format = format_of(back.dtype);
    const double ulps = ulps_of(inverse->op);
    for (const double side : {-1.0, 1.0}) {
      const std::vector<double> moved = inverse_of(*find_operator(inverse->op), middle, side);
      for (std::size_t i = 0; i < wanted.size(); ++i)
        back.bound[i] =
            std::max(back.bound[i], std::fabs(moved[i] - wanted[i]) + ulps * format.ulp(wanted[i]));
    }
    back.rule =
        fmt::format("what {} makes of a result that is as far off as it may be", inverse->op);
    return back;
  }

  static std::vector<double> inverse_of(Operator& op, const ExpectedTensor& middle, double side) {
    std::vector<double> values = doubles_of(middle.wide);
    Laid laid{f64, middle.shape, row_major_strides(middle.shape), 0, {}};
    laid.storage.resize(values.size() * sizeof(double));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double off = i < middle.bound.size() ? middle.bound[i] : 0;
      store_element(Number{values[i] + side * off}, f64, laid.storage.data() + i * sizeof(double));
    }
    Problem inverse;
    inverse.op = &op;
    Argument argument;
    argument.value.tag = BP_TENSOR;
    argument.tensors = {0};
    inverse.arguments.push_back(argument);
    inverse.tensors.push_back(laid);
    return doubles_of(call_row(inverse, {laid_out(laid)}, {}).at(0));
  }

  // 16-bit numbers are computed in float32 and rounded once.
  double ulps_of(const std::string& row) const {
    const Operator* op = find_operator(row);
    const std::string_view tolerance = op ? op->tolerance : "";
    double ulps = 0;
    std::from_chars(tolerance.data(), tolerance.data() + tolerance.size(), ulps);
    return one_.dtype == f16 || one_.dtype == bf16 ? 1 : std::max(1.0, ulps);
  }

  std::string program_;
  std::vector<Statement> statements_;
  std::map<std::string, int> objects_;
  std::vector<Check> checks_;
  ExpectedTensor nearness_;
};

}  // namespace

std::unique_ptr<Trial> make_round_trip_trial(const Case& one, const Subject& subject) {
  return std::make_unique<RoundTripTrial>(one, subject);
}

}  // namespace bp::conform
