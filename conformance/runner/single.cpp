// One case under a lens: repro prints all of it, shrink looks for a simpler one that fails alike, explain says how it is
// decided.
#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <set>

#include "judge/expected.hpp"
#include "report/report.hpp"
#include "runner/commands.hpp"
#include "runner/show.hpp"

namespace bp::conform {
namespace {

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
  for (std::size_t at = 0; at < shape.size();) {
    std::size_t end = at;
    while (end < shape.size() && shape[end] >= '0' && shape[end] <= '9') ++end;
    if (end == at) {
      ++at;
      continue;
    }
    const long number = std::stol(shape.substr(at, std::min<std::size_t>(end - at, 12)));
    for (const long smaller : {1L, 2L, number / 2, number - 1})
      if (smaller > 0 && smaller < number)
        out.push_back(shape.substr(0, at) + std::to_string(smaller) + shape.substr(end));
    at = end;
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

struct Shrinking {
  const Bench& bench;
  Outcome wanted;
  int tried = 0;
  std::set<std::string> seen;

  // Whether a neighbour can be made at all and fails alike; probes and odd shapes cannot.
  bool fails(const Case& one) {
    if (!seen.insert(name_of(one)).second) return false;
    ++tried;
    const Executed again = execute_alone(bench, one);
    const Verdict& verdict = again.record.verdict;
    return !again.interrupted && verdict.rule != "suite" && verdict.outcome == wanted;
  }
};

const Record* nearest_pass(const Run& run, const Case& one, std::vector<std::string>& differing) {
  const Record* best = nullptr;
  for (const Record& record : run.records) {
    const Case& other = record.one;
    if (record.verdict.outcome != Outcome::pass || other.op != one.op) continue;
    std::vector<std::string> axes;
    const auto compare_axis = [&](const char* axis, const auto& a, const auto& b) {
      if (a != b) axes.emplace_back(axis);
    };
    compare_axis("lane", one.lane, other.lane);
    compare_axis("dtype", one.dtype, other.dtype);
    compare_axis("shape", one.shape, other.shape);
    compare_axis("layouts", one.layouts, other.layouts);
    compare_axis("values", one.values, other.values);
    compare_axis("form", one.form, other.form);
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
  Shrinking shrinking{bench, first.record.verdict.outcome, 0, {name_of(one)}};
  constexpr int most_tries = 400;
  for (bool simpler_found = true; simpler_found && shrinking.tried < most_tries;) {
    simpler_found = false;
    for (const Case& neighbour : simpler(one)) {
      if (!shrinking.fails(neighbour)) continue;
      one = neighbour;
      simpler_found = true;
      fmt::print("also fails: {}\n", name_of(one));
      break;
    }
  }
  fmt::print("{} ({} tried)\n", name_of(one), shrinking.tried);
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
