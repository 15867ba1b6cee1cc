// backplane conform selftest: whether the suite finds what is built into the exam plugin, and nothing else.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <unordered_map>

#include <backplane/tensor/error.hpp>

#include "report/files.hpp"
#include "report/report.hpp"
#include "runner/aggregate.hpp"
#include "runner/commands.hpp"
#include "runner/exam.hpp"
#include "runner/families.hpp"
#include "runner/interrupt.hpp"
#include "runner/pool.hpp"

namespace bp::conform {
namespace {

namespace fs = std::filesystem;

constexpr int parts_of_the_exam = 10;

// The exam's plugin, as it lies beside this program in a build or in an installed prefix.
std::string find_exam() {
  std::error_code none;
  const fs::path program = fs::canonical("/proc/self/exe", none).parent_path();
  std::string looked;
  for (const fs::path& place : {program / "../lib/test_plugins", program / "../lib/backplane/exam",
                                fs::path("build/release/lib/test_plugins")}) {
    const fs::path found = place / "libbackplane_exam.so";
    if (fs::is_regular_file(found, none)) return fs::canonical(found);
    looked += (looked.empty() ? "" : ", ") + found.lexically_normal().string();
  }
  throw_error(ErrorClass::bad_argument,
              fmt::format("selftest: the exam's plugin is in none of {}; it is built with "
                          "Backplane's tests (target backplane_exam): --plugin PATH",
                          looked));
}

std::string find_faults(const Options& options) {
  if (!options.faults.empty()) return options.faults;
  const fs::path beside = fs::path(options.plugin).parent_path();
  for (const fs::path& place : {beside / "exam/faults.json", beside / "faults.json",
                                fs::path("tests/plugins/exam/faults.json")})
    if (fs::exists(place)) return place;
  throw_error(ErrorClass::bad_argument,
              fmt::format("selftest: no faults.json beside {}; --faults FILE", options.plugin));
}

std::vector<ExamEntry> entries_of(const Options& options) {
  std::vector<ExamEntry> entries = read_exam(find_faults(options));
  if (!options.only.empty())
    std::erase_if(entries, [&](const ExamEntry& entry) {
      return std::none_of(options.only.begin(), options.only.end(),
                          [&](const std::string& glob) { return matches_glob(glob, entry.name); });
    });
  if (options.tenth >= 0) {
    std::size_t index = 0;
    const auto part = static_cast<std::size_t>(options.tenth % parts_of_the_exam);
    std::erase_if(entries, [&](const ExamEntry&) { return index++ % parts_of_the_exam != part; });
  }
  if (entries.empty()) throw_error(ErrorClass::bad_argument, "selftest: nothing is chosen");
  return entries;
}

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

}  // namespace

int run_selftest(const Options& given) {
  Options options = given;
  if (options.plugin.empty()) options.plugin = find_exam();
  const std::vector<ExamEntry> entries = entries_of(options);
  const InterruptGuard guard;
  std::vector<ExamResult> results;
  int bad = 0;
  for (int seed = 1; seed <= options.seeds; ++seed)
    for (const ExamEntry& entry : entries) {
      const ExamResult result = sit(options, entry, static_cast<std::uint64_t>(seed));
      if (InterruptGuard::requested()) {
        fmt::print(stderr, "selftest: interrupted after {} of {}\n", results.size(),
                   entries.size() * static_cast<std::size_t>(options.seeds));
        return exit_interrupted;
      }
      fmt::print("{}", exam_line(result));
      std::fflush(stdout);
      bad += !result.good;
      results.push_back(result);
    }
  if (!options.write.empty()) write_whole_file(options.write, exam_page(results));
  fmt::print("{} of {} as they should be\n", results.size() - static_cast<std::size_t>(bad),
             results.size());
  return bad == 0 ? 0 : exit_failed;
}

}  // namespace bp::conform
