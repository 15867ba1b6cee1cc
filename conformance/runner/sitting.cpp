#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <string_view>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>

#include "cases/classify.hpp"
#include "report/files.hpp"
#include "report/report.hpp"
#include "runner/aggregate.hpp"
#include "runner/exam.hpp"
#include "runner/interrupt.hpp"
#include "runner/pool.hpp"

namespace bp::conform {
namespace {

struct Meaning {
  std::string_view word;
  const char* family;
};

// Of values (inputs/values.hpp).
constexpr Meaning meanings_of_values[] = {{"specials", "special"},   {"zeros", "special"},
                                          {"wide", "values"},        {"wide", "overflow"},
                                          {"near", "values"},        {"every16", "values"},
                                          {"cancel", "values"},      {"cancel", "cancellation"},
                                          {"exact", "exact"},        {"big", "2^53"},
                                          {"big", "overflow"},       {"ties", "values"},
                                          {"ties", "exact"},         {"duplicates", "duplicates"},
                                          {"too_high", "negative"},  {"too_low", "negative"},
                                          {"minus_one", "negative"}, {"minus_end", "negative"},
                                          {"minus_any", "negative"}, {"wide", "ulp"},
                                          {"near", "ulp"},           {"every16", "ulp"},
                                          {"fading", "values"},      {"midpoints", "values"},
                                          {"powers", "values"},      {"in_turn", "special"}};

constexpr Meaning meanings_of_forms[] = {
    {"error", "negative"},     {"grad", "gradient"},  {"repeat", "stress"},
    {"repeat", "determinism"}, {"threads", "stress"}, {"in_place", "alias"},
    {"aliased", "alias"},      {"stream", "async"},   {"recycled", "poison"}};

// Of sentences that the instruments make (trials/trial.cpp).
constexpr Meaning meanings_of_sentences[] = {{"wrote outside of its memory", "red zone"},
                                             {"wrote between the elements", "red zone"},
                                             {"changed an input", "checksum"},
                                             {"keeps more than it had", "counters"},
                                             {"leak", "counters"},
                                             {"two runs give different", "poison"},
                                             {"gives other bits each time", "determinism"},
                                             {"and then says that it cannot", "honesty"},
                                             {"gave no message", "honesty"},
                                             {"are on the whole", "bias"},
                                             {"failed, and changed memory", "negative"},
                                             {"no longer answers", "isolation"}};

// What a row's case asks by its shape and by how its tensors lie.
void add_families_of_axes(const Case& one, std::set<std::string>& families) {
  const std::string sizes = one.shape.substr(0, one.shape.find(':'));
  families.insert("shape");
  if (sizes.find(',') != std::string::npos) families.insert("broadcast");
  for (const char* empty : {"s0", "x0", ",0"})
    if (sizes.find(empty) != std::string::npos) families.insert("special");
  if (is_large(one)) families.insert("large");
  if (one.layouts != "plain" && one.layouts != "own") families.insert("layout");
}

// Is such a call made of other rows, whatever kernels there are?
bool is_composite(const Case& one) {
  ensure_operators();
  const Operator* const row = find_operator(one.op);
  if (row == nullptr) return false;
  return row->kind == BP_KIND_COMPOSITE || (row->decompose_complex && is_complex(one.dtype));
}

// The families that a case stands for by its name, whatever comes of it: "layout", "cancellation", "2^53" ...
std::set<std::string> families_of_case(const Case& one) {
  std::set<std::string> families = {one.family};
  if (one.lane != Lane::probe) {
    add_families_of_axes(one, families);
    if (is_composite(one)) families.insert("composite");
  }
  for (const Meaning& meaning : meanings_of_values)
    if (one.values == meaning.word) families.insert(meaning.family);
  for (const Meaning& meaning : meanings_of_forms)
    if (one.form == meaning.word) families.insert(meaning.family);
  if (one.lane == Lane::probe) {
    families.insert(one.op.substr(0, one.op.find('.')));
    families.insert(one.op.substr(one.op.find('.') + 1));
  }
  return families;
}

// And those that its failure adds: "red zone", "checksum", "poison", "counters", "isolation", "honesty", "flaky" ...
std::set<std::string> families_of_kill(const Record& record) {
  std::set<std::string> families = families_of_case(record.one);
  const Verdict& verdict = record.verdict;
  for (const Meaning& meaning : meanings_of_sentences)
    if (verdict.why.find(meaning.word) != std::string::npos) families.insert(meaning.family);
  if (verdict.outcome == Outcome::crash || verdict.outcome == Outcome::timeout)
    families.insert("isolation");
  if (verdict.outcome == Outcome::flaky) families.insert({"flaky", "stress"});
  if (verdict.rule.find("gamma") != std::string::npos) families.insert("accumulation");
  return families;
}

namespace fs = std::filesystem;

// Cases that ask what the fault should be found by come first; the order within stays.
void put_family_first(std::vector<Case>& cases, const std::string& family) {
  std::stable_partition(cases.begin(), cases.end(),
                        [&](const Case& one) { return families_of_case(one).contains(family); });
}

struct Sitting {
  const Options& options;
  Bench bench;
  ExamResult result;
  std::vector<Record> records;
  std::unique_ptr<Journal> journal;

  bool take(const Record& record) {
    if (journal != nullptr) journal->write(record);
    ++result.run;
    if (result.entry.is_fault() && record.verdict.outcome == Outcome::pass)
      records.push_back(record);
    if (is_failure(record)) failed(record);
    const bool stops = result.entry.is_fault() && result.good && !options.whole_matrix;
    return !stops;
  }

  void failed(const Record& record) {
    const auto families = families_of_kill(record);
    for (const std::string& family : families) ++result.kills[family];
    const bool is_kill = result.entry.is_fault() && families.contains(result.entry.family);
    if (result.first.empty() || (is_kill && !result.good)) {
      result.first = record.name;
      result.why = record.verdict.why;
    }
    if (result.entry.is_fault())
      result.good = result.good || is_kill;
    else
      result.good = false;
  }

  void run() {
    Options own = options;
    if (own.device.empty()) own.device = "exam:0";
    own.environment.push_back(
        (result.entry.is_fault() ? "BACKPLANE_EXAM_FAULT=" : "BACKPLANE_EXAM_VARIANT=") +
        result.entry.name);
    bench = bench_of(own);
    bench.plan.stop = &InterruptGuard::requested();
    Selection selection;
    selection.seed = result.seed;
    selection.filters = result.entry.ops;
    std::vector<Case> cases = derive_cases(bench.subject, selection);
    result.cases = cases.size();
    put_family_first(cases, result.entry.family);
    if (!options.out.empty()) {
      fs::create_directories(options.out);
      journal = std::make_unique<Journal>(
          fmt::format("{}/{}.{}.jsonl", options.out, result.entry.name, result.seed), false);
      journal->write({{"run",
                       {{"tool", "selftest"},
                        {"subject", to_json(bench.subject)},
                        {"selection", selection},
                        {"digest", digest_of(cases)},
                        {"cases", cases.size()},
                        {"started", now_seconds()}}}});
    }
    Progress progress(cases.size(), Progress::Shows::nothing);
    run_pool(bench, cases, jobs_of(options), progress,
             [&](const Record& record) { return take(record); });
    for (const Aggregate& each : aggregate_bias(records))
      if (each.leans && !result.good) take(record_of(each));
    result.seconds = progress.seconds();
  }
};

}  // namespace

ExamResult sit(const Options& options, const ExamEntry& entry, std::uint64_t seed) {
  Sitting sitting{options, {}, {}, {}, nullptr};
  sitting.result.entry = entry;
  sitting.result.seed = seed;
  sitting.result.good = !entry.is_fault();
  try {
    sitting.run();
  } catch (const std::exception& problem) {
    sitting.result.good = false;
    sitting.result.why = problem.what();
  }
  return sitting.result;
}

}  // namespace bp::conform
