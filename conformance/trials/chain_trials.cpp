// Trials of what holds between several calls: the same values in other layouts and forms, pieces of a call, round trips.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <map>

#include <backplane/core_ops/creation.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/tensor/views.hpp>

#include "cases/special_cases.hpp"
#include "inputs/problem.hpp"
#include "inputs/values.hpp"
#include "judge/calls.hpp"
#include "trials/trial.hpp"

namespace bp::conform {

namespace {

// A call of the row, and others on the same tensors and on what they gave, one after the other on the device, with nobody
// waiting in between.
class Chain : public RowTrial {
 public:
  Json script(int index) final {
    Json script = new_script(one_, index);
    calls_.clear();
    next_object_ = 1000;
    add_tensors(script);
    row_ = add_step(script, row_step(problem_, first_result));
    build(script);
    return script;
  }

 protected:
  using RowTrial::RowTrial;

  // Adds what follows the row's own call.
  virtual void build(Json& script) = 0;
  // All calls have succeeded. Throws Wrong.
  virtual void judge_values(Verdict& verdict, const Json& answer) = 0;

  std::string rung_of(const Json& answer) const final {
    return served_rung(result_of(answer, row_), one_.op);
  }
  void judge_run(Verdict& verdict, const Json& answer, std::size_t) final {
    if (!has_succeeded(verdict, result_of(answer, row_)) || verdict.outcome != Outcome::pass)
      return;
    for (const std::size_t call : calls_)
      demand(code_of(result_of(answer, call)) == BP_OK, "the call alone succeeds; after it, {}",
             error_of(result_of(answer, call)));
    judge_values(verdict, answer);
  }

  // A call of any row, whose results become new objects.
  std::vector<int> add_call(Json& script, const std::string& op, Json arguments,
                            std::size_t num_results = 1, const Json& more = {}) {
    std::vector<int> results;
    for (std::size_t i = 0; i < num_results; ++i) results.push_back(next_object_++);
    Json row = {{"do", "row"},        {"op", op},      {"args", std::move(arguments)},
                {"results", results}, {"quiet", true}, {"synchronize", false}};
    if (more.is_object()) row.update(more);
    calls_.push_back(add_step(script, std::move(row)));
    return results;
  }

  // The step's position; its bytes are there when values are judged.
  static std::size_t add_values(Json& script, int object) {
    return add_step(script, {{"do", "values"}, {"object", object}});
  }

  // Takes the bytes into the verdict's hash.
  const Bytes& take_values(const Json& answer, std::size_t step, const std::string& what) {
    const Bytes& bytes = read_of(answer, step, what);
    seen_.push_back(bytes);
    return bytes;
  }
  // The suite expects the row's results.
  void demand_expected() const {
    demand(expected_.error.empty() && expected_.results.size() >= num_results(),
           "the suite expects no result of this call");
  }

 private:
  int next_object_ = 1000;
  std::size_t row_ = 0;
  std::vector<std::size_t> calls_;
};

// The row's arguments with other objects in the place of its tensors.
Json arguments_with(const Problem& problem, const std::vector<int>& objects) {
  Json list = core_arguments(problem, 0);
  const auto replaced = [&](Json& object) { object = objects.at(object.get<std::size_t>()); };
  for (Json& each : list) {
    if (each.contains("tensor")) replaced(each["tensor"]);
    if (each.contains("tensors"))
      for (Json& one : each["tensors"])
        if (!one.is_null()) replaced(one);
  }
  return list;
}

// ---- The same values in another layout ("layouts"), or called in other forms ("forms")

constexpr int first_tensor_in_layout = 400;
constexpr int first_given_of_forms = 600;
constexpr int stream_of_forms = 700;

class SameValuesTrial : public Chain {
 public:
  SameValuesTrial(const Case& one, const Subject& subject) : Chain(one, subject) {
    // The row's own call is the plain one; then come the others.
    if (one.form != "layouts") return;
    other_ = std::move(problem_);
    Case plain = one;
    plain.layouts = one.shape.starts_with("sample:") ? "own" : "plain";
    problem_ = decisive_problem(plain, subject.numerics);
  }

 protected:
  void build(Json& script) override {
    ways_.clear();
    std::vector<int> own;
    for (std::size_t r = 0; r < num_results(); ++r) own.push_back(object_at(first_result, r));
    add_way("the plain call", own);
    if (one_.form == "layouts")
      add_layouts(script);
    else
      add_ways(script);
    for (Way& way : ways_)
      for (const int object : way.results) way.values.push_back(add_values(script, object));
  }

  void judge_values(Verdict& verdict, const Json& answer) override {
    demand_expected();
    std::string rule;
    for (std::size_t r = 0; r < num_results(); ++r) {
      const ExpectedTensor& expected = expected_.results[r];
      const bool agree = must_agree(expected, answer);
      const Bytes* first = nullptr;
      for (const Way& way : ways_) {
        const std::string what = fmt::format("{}, result {}", way.name, r);
        const Bytes& bytes = take_values(answer, way.values[r], what);
        judge_result(verdict, bytes, expected, what);
        if (verdict.outcome != Outcome::pass) return;
        if (!first) first = &bytes;
        demand(!agree || bytes == *first, "{}: other bits than the plain call's", what);
      }
      rule += (agree ? "the same bits; " : "") + verdict.rule;
    }
    verdict.rule = rule;
  }

 private:
  struct Way {
    std::string name;
    std::vector<int> results;
    std::vector<std::size_t> values;
  };

  void add_way(const std::string& name, std::vector<int> results) {
    ways_.push_back({name, std::move(results), {}});
  }

  void add_layouts(Json& script) {
    std::vector<int> objects;
    for (std::size_t t = 0; t < other_.tensors.size(); ++t) {
      objects.push_back(object_at(first_tensor_in_layout, t));
      add_step(script, tensor_step(other_.tensors[t], objects.back(), false));
    }
    add_way("laid out as " + one_.layouts,
            add_call(script, one_.op, arguments_with(other_, objects), num_results()));
  }

  void add_ways(Json& script) {
    const Json arguments = core_arguments(problem_, 0);
    add_way("called again", add_call(script, one_.op, arguments, num_results()));
    if (subject_.has_streams) {
      add_step(script, {{"do", "stream"}, {"object", stream_of_forms}});
      add_way("on another stream",
              add_call(script, one_.op, arguments, num_results(), {{"stream", stream_of_forms}}));
      add_step(script, {{"do", "synchronize"}, {"stream", stream_of_forms}});
    }
    if (problem_.outputs.size() != num_results()) return;
    std::vector<int> given;
    for (const OutputSpec& spec : problem_.outputs) {
      given.push_back(object_at(first_given_of_forms, given.size()));
      const Laid laid = lay_out(spec.dtype, {spec.shape.begin(), spec.shape.end()}, "plain", 1);
      add_step(script, tensor_step(laid, given.back(), false));
    }
    // It writes what is given, and the look at inputs would call that a change.
    add_call(script, one_.op, arguments, num_results(),
             {{"into", given}, {"quiet", false}, {"synchronize", true}});
    add_way("into given memory", given);
  }

  // Other layouts may go other ways through the same sum; other calls of one layout may not, of a kernel that declares
  // that it repeats its bits.
  bool must_agree(const ExpectedTensor& expected, const Json& answer) const {
    if (expected.only_shape) return false;
    if (one_.form != "layouts") return repeats_bits(answer);
    const bool is_open = expected.any_zero || expected.flushed.defined() || expected.zero_below > 0;
    return expected.bound.empty() && !is_open && !is_floating(expected.dtype) &&
           !is_complex(expected.dtype);
  }

  Problem other_;
  std::vector<Way> ways_;
};

// ---- Pieces of a call ("batch", "joined")

// What is expected of a piece: that piece of what is expected of the whole, with its bounds.
ExpectedTensor expected_of_part(const ExpectedTensor& whole, std::size_t dim, std::int64_t start,
                                std::int64_t length) {
  ExpectedTensor part = whole;
  const auto at = static_cast<std::int64_t>(dim);
  part.shape[dim] = length;
  part.typical.clear();  // says something of many elements alone
  if (whole.wide.defined()) part.wide = contiguous(views::narrow(whole.wide, at, start, length));
  if (whole.flushed.defined())
    part.flushed = contiguous(views::narrow(whole.flushed, at, start, length));
  if (whole.bound.empty()) return part;
  std::size_t inner = parts_of(whole.dtype);
  for (std::size_t d = dim + 1; d < whole.shape.size(); ++d)
    inner *= static_cast<std::size_t>(whole.shape[d]);
  const std::size_t line = inner * static_cast<std::size_t>(whole.shape[dim]);
  part.bound.clear();
  for (std::size_t from = 0; from < whole.bound.size(); from += line) {
    const auto first = whole.bound.begin() +
                       static_cast<std::ptrdiff_t>(from + inner * static_cast<std::size_t>(start));
    part.bound.insert(
        part.bound.end(), first,
        first + static_cast<std::ptrdiff_t>(inner * static_cast<std::size_t>(length)));
  }
  return part;
}

class PartsTrial : public Chain {
 public:
  PartsTrial(const Case& one, const Subject& subject) : Chain(one, subject) {
    const std::optional<Split> found = split_of(problem_, one.seed, one.form == "joined");
    if (!found) refuse_case(one, "the row does not compute pieces of this call by themselves");
    split_ = *found;
  }

 protected:
  void build(Json& script) override {
    checks_.clear();
    if (one_.form == "joined") return build_joined(script);
    Sizes slices = {0, split_.size / 2, split_.size - 1};
    slices.erase(std::unique(slices.begin(), slices.end()), slices.end());
    for (const std::int64_t slice : slices) {
      const std::vector<int> results = add_part(script, slice, 1).results;
      for (std::size_t r = 0; r < results.size(); ++r)
        checks_.push_back({add_values(script, results[r]), r, slice, 1,
                           fmt::format("slice {} of the batch, result {}", slice, r)});
    }
  }

  void judge_values(Verdict& verdict, const Json& answer) override {
    demand_expected();
    for (const Check& check : checks_) {
      const Bytes& bytes = take_values(answer, check.step, check.what);
      if (verdict.outcome != Outcome::pass) return;
      judge_result(
          verdict, bytes,
          expected_of_part(expected_.results[check.result], split_.dim, check.start, check.length),
          check.what);
    }
    verdict.rule = fmt::format("{} along dimension {}: {}", one_.form, split_.dim, verdict.rule);
  }

 private:
  struct Check {
    std::size_t step, result;
    std::int64_t start, length;
    std::string what;
  };
  struct Part {
    std::vector<int> tensors, results;
  };

  Part add_part(Json& script, std::int64_t start, std::int64_t length) {
    Part part;
    for (std::size_t t = 0; t < problem_.tensors.size(); ++t) {
      const Cut* cut = split_.cut_of(t);
      part.tensors.push_back(static_cast<int>(t));
      if (cut)
        part.tensors.back() = add_call(script, "narrow",
                                       {{{"tensor", static_cast<int>(t)}},
                                        {{"i", static_cast<std::int64_t>(cut->dim)}},
                                        {{"i", start}},
                                        {{"i", length}}})[0];
    }
    part.results = add_call(script, one_.op, arguments_with(problem_, part.tensors), num_results());
    return part;
  }

  int add_joined(Json& script, int first, int second, std::size_t dim) {
    const Json tensors = {{"tensors", {first, second}}};
    return add_call(script, "cat",
                    Json::array({tensors, {{"i", static_cast<std::int64_t>(dim)}}}))[0];
  }

  void build_joined(Json& script) {
    const std::int64_t border = split_.size / 3 + 1;
    const Part low = add_part(script, 0, border),
               high = add_part(script, border, split_.size - border);
    std::vector<int> whole = low.tensors;
    for (const Cut& cut : split_.cuts)
      whole[cut.tensor] =
          add_joined(script, low.tensors[cut.tensor], high.tensors[cut.tensor], cut.dim);
    const std::vector<int> of_whole =
        add_call(script, one_.op, arguments_with(problem_, whole), num_results());
    for (std::size_t r = 0; r < num_results(); ++r) {
      const int joined = add_joined(script, low.results[r], high.results[r], split_.dim);
      checks_.push_back({add_values(script, joined), r, 0, split_.size,
                         fmt::format("the results {} of two pieces, joined", r)});
      checks_.push_back({add_values(script, of_whole[r]), r, 0, split_.size,
                         fmt::format("result {} of two pieces that were joined", r)});
    }
  }

  Split split_;
  std::vector<Check> checks_;
};

// ---- Round trips

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
      for (const std::size_t step : {check.first, check.second})
        if (const Bytes* const seen = bytes_of(result_of(answer, step))) seen_.push_back(*seen);
      read_of(answer, check.first, check.what);
      const Bytes& second = read_of(answer, check.second, check.what);
      if (verdict.outcome != Outcome::pass) return;
      if (check.is_near)
        judge_result(verdict, second, nearness_, check.what);
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
    const auto text = [](const Json& of) {
      return of["dtype"].get<std::string>() + " " + of["shape"].dump();
    };
    if (text(first) != text(second))
      return fail_with(verdict, fmt::format("{}: {} against {}", what, text(first), text(second)));
    const Dtype dtype = dtype_from_name(first["dtype"].get_ref<const std::string&>());
    const bool flushes = subject_.numerics.flushes_denormals && has_fractions(dtype) &&
                         format_of(dtype).lowest_exponent == format_of(f32).lowest_exponent;
    const double zero_below = flushes ? format_of(dtype).smallest_normal() : 0;
    const std::ptrdiff_t at =
        first_difference(*bytes_of(first), *bytes_of(second), dtype, zero_below);
    if (at >= 0)
      fail_with(verdict,
                fmt::format("{}: other bits in element {} of {}", what,
                            static_cast<std::size_t>(at) / parts_of(dtype), first["shape"].dump()));
  }

  // The oracle's inverse of what is one bound off r0, and the inverse's own bound.
  ExpectedTensor nearness_of(const Statement& statement) const {
    const auto inverse = std::ranges::find_if(statements_, [&](const Statement& each) {
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

std::unique_ptr<Trial> make_relation_trial(const Case& one, const Subject& subject) {
  if (one.form == "round_trip") return std::make_unique<RoundTripTrial>(one, subject);
  if (one.form == "batch" || one.form == "joined")
    return std::make_unique<PartsTrial>(one, subject);
  return std::make_unique<SameValuesTrial>(one, subject);
}

}  // namespace bp::conform
