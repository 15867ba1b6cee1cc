// One case under a lens: repro prints all of it, shrink looks for a simpler one that fails alike, explain says how it is
// decided.
#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

#include "inputs/problem.hpp"
#include "inputs/values.hpp"
#include "judge/calls.hpp"
#include "report/report.hpp"
#include "runner/commands.hpp"

namespace bp::conform {

// ---- A case in full, for a person: its arguments, what a worker was asked and answered, what was expected

namespace {

constexpr std::size_t most_numbers = 64;

std::string element_text(Dtype dtype, const unsigned char* at) {
  if (dtype == boolean) return *at != 0 ? "true" : "false";
  if (holds_whole_numbers(dtype)) return integer_text(dtype, at);
  double parts[2] = {};
  to_doubles(at, 1, dtype, parts);
  return is_complex(dtype) ? fmt::format("{:.17g}{:+.17g}i", parts[0], parts[1])
                           : fmt::format("{:.17g}", parts[0]);
}

std::string elements_text(Dtype dtype, const Bytes& bytes) {
  const std::size_t size = itemsize(dtype), count = bytes.size() / size;
  std::string text;
  for (std::size_t i = 0; i < std::min(count, most_numbers); ++i)
    text += (i == 0 ? "" : ", ") + element_text(dtype, bytes.data() + i * size);
  if (count > most_numbers) text += fmt::format(", ... ({} in all)", count);
  return "[" + text + "]";
}

void show_inputs(const Problem& problem) {
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    const Laid& laid = problem.tensors[i];
    fmt::print("input {}: {} {}, strides {}, offset {}\n  {}\n", i, short_name(laid.dtype),
               laid.shape, laid.strides, laid.offset,
               elements_text(laid.dtype, packed_elements(laid)));
  }
}

std::string bounds_text(const ExpectedTensor& expected) {
  if (expected.bound.empty())
    return expected.ulp == 0 ? "bit for bit" : fmt::format("{:.3g} ulp", expected.ulp);
  const auto [least, most] = std::ranges::minmax_element(expected.bound);
  return fmt::format("bounds from {:.3g} to {:.3g}", *least, *most);
}

std::string wide_text(const ExpectedTensor& expected) {
  if (!expected.wide.defined()) return "(values are not determined)";
  const auto* data = static_cast<const unsigned char*>(expected.wide.data_ptr());
  const std::size_t bytes =
      static_cast<std::size_t>(expected.wide.numel()) * expected.wide.itemsize();
  return elements_text(expected.wide.dtype(), {data, data + bytes});
}

void show_results(const Expected& expected) {
  if (!expected.error.empty()) fmt::print("expected: an error that names \"{}\"\n", expected.error);
  for (std::size_t i = 0; i < expected.results.size(); ++i) {
    const ExpectedTensor& result = expected.results[i];
    fmt::print("expected {}: {} {}, {} ({})\n  {}\n", i, short_name(result.dtype), result.shape,
               result.rule, bounds_text(result), wide_text(result));
  }
}

// Long bytes say how many they are; the rest is the protocol's.
Json without_bytes(Json step) {
  for (auto& [key, value] : step.items())
    if (value.is_binary()) value = fmt::format("({} bytes)", value.get_binary().size());
  return step;
}

// In the dtype of the expected result that has so many bytes, else as they are.
std::string answer_bytes_text(const Bytes& bytes, const Expected& expected) {
  for (const ExpectedTensor& result : expected.results) {
    const std::int64_t count = numel_of(result.shape) * itemsize(result.dtype);
    if (static_cast<std::size_t>(count) == bytes.size()) return elements_text(result.dtype, bytes);
  }
  const Dtype dtype = expected.results.empty() ? u8 : expected.results[0].dtype;
  return fmt::format("as {} {}", short_name(dtype), elements_text(dtype, bytes));
}

void show_answers(const Json& script, const Json& answer, const Expected& expected) {
  const Json& steps = script.at("steps");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    fmt::print("> {}\n", without_bytes(steps[i]).dump());
    const std::size_t num_results = answer.contains("steps") ? answer["steps"].size() : 0;
    if (i >= num_results) {
      if (i == num_results) fmt::print("  no answer\n");
      continue;
    }
    const Json& result = answer["steps"][i];
    if (!result.empty()) fmt::print("< {}\n", without_bytes(result).dump());
    if (result.contains("bytes") && result["bytes"].is_binary())
      fmt::print("  {}\n", answer_bytes_text(result["bytes"].get_binary(), expected));
  }
  if (answer.contains("watch")) fmt::print("instruments: {}\n", answer["watch"].dump());
  if (answer.contains("failed")) fmt::print("failed: {}\n", answer["failed"].dump());
}

Expected expected_of(const Case& one, const Problem& problem, const Subject& subject) {
  try {
    return expect(problem, one, subject.numerics, one.form == "grad");
  } catch (const std::exception& why) {
    fmt::print("nothing is expected by itself: {}\n", why.what());
    return {};
  }
}

void show_case(const Case& one, const Subject& subject, const std::vector<Json>& scripts,
               const std::vector<Json>& answers) {
  Expected expected;
  fmt::print("{}\n", name_of(one));
  if (one.lane != Lane::probe) {
    const Problem problem = decisive_problem(one, subject.numerics);
    show_inputs(problem);
    expected = expected_of(one, problem, subject);
    show_results(expected);
  }
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    if (i > 0 && i < answers.size() && answers[i] == answers[0]) {
      fmt::print("script {}: the same answers\n", i);
      continue;
    }
    fmt::print("script {}, memory filled with {}:\n", i, scripts[i].value("poison", 0));
    show_answers(scripts[i], i < answers.size() ? answers[i] : Json::object(), expected);
  }
}

void show_rules(const Case& one, const Subject& subject) {
  const Problem problem = decisive_problem(one, subject.numerics);
  const Expected expected = expected_of(one, problem, subject);
  if (!expected.error.empty())
    fmt::print("decided by: an error that names \"{}\"\n", expected.error);
  for (std::size_t i = 0; i < expected.results.size(); ++i)
    fmt::print("result {}, {} {}: {}; {}\n", i, short_name(expected.results[i].dtype),
               expected.results[i].shape, expected.results[i].rule,
               bounds_text(expected.results[i]));
}

// ---- The commands

void print_verdict(const Executed& seen) {
  const Verdict& verdict = seen.record.verdict;
  fmt::print("\n{}: {}{}\n", seen.record.name, name(verdict.outcome),
             verdict.why.empty() ? "" : ": " + verdict.why);
  if (!verdict.rule.empty()) fmt::print("rule: {}\n", verdict.rule);
  if (!verdict.rung.empty()) fmt::print("served by: {}\n", verdict.rung);
  if (verdict.worst_ulp != 0 || verdict.worst_share != 0)
    fmt::print("largest error: {:.3g} ulp, {:.3g} of the bound; bias {:.2g}\n", verdict.worst_ulp,
               verdict.worst_share, verdict.bias);
  fmt::print("{:.1f} ms\n", seen.record.ms);
}

// The numbers that a text is full of, made smaller one at a time: "m17k65n3" gives "m1k65n3", "m8k65n3" ...
std::vector<std::string> smaller_shapes(const std::string& shape) {
  std::vector<std::string> out;
  if (shape.starts_with("sample:")) return out;
  constexpr const char* digits = "0123456789";
  std::size_t end = 0;
  for (std::size_t at; (at = shape.find_first_of(digits, end)) != std::string::npos;) {
    end = std::min(shape.find_first_not_of(digits, at), shape.size());
    const long number = std::stol(shape.substr(at, std::min<std::size_t>(end - at, 12)));
    for (const long smaller : {1L, 2L, number / 2, number - 1})
      if (smaller > 0 && smaller < number)
        out.push_back(shape.substr(0, at) + std::to_string(smaller) + shape.substr(end));
  }
  return out;
}

// A case's simpler neighbours, the boldest first.
std::vector<Case> simpler(const Case& one) {
  std::vector<Case> out;
  const auto with = [&](std::string Case::*axis, const std::string& value) {
    if (one.*axis == value) return;
    out.push_back(one);
    out.back().*axis = value;
  };
  with(&Case::layouts, "plain");
  with(&Case::values, "normal");
  if (one.form != "error" && one.form != "grad") with(&Case::form, "call");
  for (std::size_t dot = one.layouts.rfind('.'); dot != std::string::npos && dot != 0;
       dot = one.layouts.rfind('.', dot - 1))
    with(&Case::layouts, one.layouts.substr(0, dot));
  for (const std::string& shape : smaller_shapes(one.shape)) with(&Case::shape, shape);
  return out;
}

const Record* nearest_pass(const Run& run, const Case& one, std::vector<std::string>& differing) {
  const Record* best = nullptr;
  for (const Record& record : run.records) {
    const Case& other = record.one;
    if (record.verdict.outcome != Outcome::pass || other.op != one.op) continue;
    std::vector<std::string> axes;
    if (one.lane != other.lane) axes.emplace_back("lane");
    if (one.dtype != other.dtype) axes.emplace_back("dtype");
    if (one.shape != other.shape) axes.emplace_back("shape");
    if (one.layouts != other.layouts) axes.emplace_back("layouts");
    if (one.values != other.values) axes.emplace_back("values");
    if (one.form != other.form) axes.emplace_back("form");
    if (axes.empty() || (best != nullptr && axes.size() >= differing.size())) continue;
    best = &record;
    differing = axes;
  }
  return best;
}

void explain_by_report(const Case& one, const std::string& report) {
  const Run run = read_journal(journal_of(report));
  for (const Record& record : run.records)
    if (record.name == name_of(one))
      fmt::print("in {}: {}{}\n", report, name(record.verdict.outcome),
                 record.verdict.why.empty() ? "" : ": " + record.verdict.why);
  std::vector<std::string> differing;
  const Record* near = nearest_pass(run, one, differing);
  if (near == nullptr)
    fmt::print("no case of {} passes\n", one.op);
  else
    fmt::print("the nearest that passes is {}: it differs in {}\n", near->name,
               fmt::join(differing, ", "));
}

}  // namespace

int repro_case(const Options& options) {
  const Case one = read_case(options.name);
  Bench bench = bench_of(options);
  bench.keeps_answers = true;
  if (options.debugger) {
    bench.plan.debugger = true;
    bench.patience = 1e6;
    std::signal(SIGINT, SIG_IGN);  // is for gdb
  }
  const Executed seen = execute_alone(bench, one);
  show_case(one, bench.subject, seen.scripts, seen.answers);
  print_verdict(seen);
  return is_failure(seen.record) ? exit_failed : 0;
}

int shrink_case(const Options& options) {
  Case one = read_case(options.name);
  const Bench bench = bench_of(options);
  const Executed first = execute_alone(bench, one);
  if (!is_failure(first.record)) {
    fmt::print("{} does not fail alone: {}\n", options.name, name(first.record.verdict.outcome));
    return exit_failed;
  }
  std::set<std::string> tried = {name_of(one)};
  // Whether a neighbour can be made at all and fails alike; probes and odd shapes cannot.
  const auto fails = [&](const Case& neighbour) {
    if (!tried.insert(name_of(neighbour)).second) return false;
    const Executed again = execute_alone(bench, neighbour);
    const Verdict& verdict = again.record.verdict;
    return !again.interrupted && verdict.rule != "suite" &&
           verdict.outcome == first.record.verdict.outcome;
  };
  constexpr std::size_t most_tries = 400;
  while (tried.size() <= most_tries) {
    const std::vector<Case> neighbours = simpler(one);
    const auto found = std::ranges::find_if(neighbours, fails);
    if (found == neighbours.end()) break;
    one = *found;
    fmt::print("also fails: {}\n", name_of(one));
  }
  fmt::print("{} ({} tried)\n", name_of(one), tried.size() - 1);
  return 0;
}

int explain_case(const Options& options) {
  const Case one = read_case(options.name);
  fmt::print("{}\nlevel {}, family {}\n", name_of(one), one.level, one.family);
  Bench bench;
  if (!options.device.empty()) bench = bench_of(options);
  if (one.lane != Lane::probe) show_rules(one, bench.subject);
  if (!options.device.empty()) print_verdict(execute_alone(bench, one));
  if (!options.report.empty()) explain_by_report(one, options.report);
  return 0;
}

}  // namespace bp::conform
