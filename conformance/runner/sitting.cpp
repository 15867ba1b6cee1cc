#include "runner/sitting.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "report/files.hpp"
#include "report/report.hpp"
#include "runner/aggregate.hpp"
#include "runner/families.hpp"
#include "runner/interrupt.hpp"
#include "runner/pool.hpp"

namespace bp::conform {
namespace {

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
                        {"selection", to_json(selection)},
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
