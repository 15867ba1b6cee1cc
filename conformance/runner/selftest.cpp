// backplane conform selftest: whether the suite finds what is built into the exam plugin, and nothing else.
#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/loading/sha256.hpp>

#include "cases/case.hpp"
#include "refuse.hpp"
#include "report/files.hpp"
#include "report/report.hpp"
#include "runner/commands.hpp"
#include "runner/exam.hpp"
#include "runner/journal.hpp"
#include "runner/pool.hpp"

namespace bp::conform {

// ---- Families, and one sitting

namespace {

// By family: the values (inputs/values.hpp) and forms that ask for it.
const std::map<std::string, std::set<std::string>> families_of_axes = {
    {"2^53", {"big"}},
    {"alias", {"in_place", "aliased"}},
    {"async", {"stream"}},
    {"cancellation", {"cancel"}},
    {"determinism", {"repeat"}},
    {"duplicates", {"duplicates"}},
    {"exact", {"exact", "ties"}},
    {"gradient", {"grad"}},
    {"negative", {"error", "too_high", "too_low", "minus_one", "minus_end", "minus_any"}},
    {"overflow", {"wide", "big"}},
    {"poison", {"recycled"}},
    {"special", {"specials", "zeros", "in_turn"}},
    {"stress", {"repeat", "threads"}},
    {"ulp", {"wide", "near", "every16"}},
    {"values", {"wide", "near", "every16", "cancel", "ties", "fading", "midpoints", "powers"}}};

// By sentence that the instruments make (trials/trial.cpp).
const std::map<std::string, std::string> families_of_sentences = {
    {"wrote outside of its memory", "red zone"},
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
  if (one.lane == Lane::probe) {
    families.insert(one.op.substr(0, one.op.find('.')));
    families.insert(one.op.substr(one.op.find('.') + 1));
  } else {
    add_families_of_axes(one, families);
    if (is_composite(one)) families.insert("composite");
  }
  for (const auto& [family, words] : families_of_axes)
    if (words.contains(one.values) || words.contains(one.form)) families.insert(family);
  return families;
}

// And those that its failure adds: "red zone", "checksum", "poison", "counters", "isolation", "honesty", "flaky" ...
std::set<std::string> families_of_kill(const Record& record) {
  std::set<std::string> families = families_of_case(record.one);
  const Verdict& verdict = record.verdict;
  for (const auto& [sentence, family] : families_of_sentences)
    if (verdict.why.find(sentence) != std::string::npos) families.insert(family);
  if (verdict.outcome == Outcome::crash || verdict.outcome == Outcome::timeout)
    families.insert("isolation");
  if (verdict.outcome == Outcome::flaky) families.insert({"flaky", "stress"});
  if (verdict.rule.find("gamma") != std::string::npos) families.insert("accumulation");
  return families;
}

namespace fs = std::filesystem;

// One fault or variant before the suite, with one seed: a fault until a case of its family kills it (unless the whole matrix
// is wanted), a variant to the end.
struct Sitting {
  Options options;
  ExamResult result;
  std::vector<Record> records;  // that pass
  std::unique_ptr<Journal> journal;

  bool take(const Record& record) {
    const bool is_fault = result.entry.is_fault();
    if (journal != nullptr) journal->write(record);
    ++result.run;
    if (is_fault && record.verdict.outcome == Outcome::pass) records.push_back(record);
    if (is_failure(record)) {
      const auto families = families_of_kill(record);
      for (const std::string& family : families) ++result.kills[family];
      const bool is_kill = is_fault && families.contains(result.entry.family);
      if (result.first.empty() || (is_kill && !result.good)) {
        result.first = record.name;
        result.why = record.verdict.why;
      }
      result.good = is_fault && (result.good || is_kill);
    }
    return !is_fault || !result.good || options.whole_matrix;
  }

  void run() {
    if (options.device.empty()) options.device = "exam:0";
    options.environment.push_back(
        (result.entry.is_fault() ? "BACKPLANE_EXAM_FAULT=" : "BACKPLANE_EXAM_VARIANT=") +
        result.entry.name);
    Bench bench = bench_of(options);
    bench.plan.stop = &InterruptGuard::requested();
    Selection selection;
    selection.seed = result.seed;
    selection.filters = result.entry.ops;
    std::vector<Case> cases = derive_cases(bench.subject, selection);
    result.cases = cases.size();
    // Cases that ask what the fault should be found by come first; the order within stays.
    std::ranges::stable_partition(cases, [&](const Case& one) {
      return families_of_case(one).contains(result.entry.family);
    });
    if (!options.out.empty()) {
      const std::string file = fmt::format("{}.{}.jsonl", result.entry.name, result.seed);
      journal = std::make_unique<Journal>(options.out + "/" + file, /*resume=*/false);
      const Json header = {
          {"tool", "selftest"}, {"subject", to_json(bench.subject)}, {"started", now_seconds()}};
      begin_run(*journal, header, selection, digest_of(cases), cases.size());
    }
    Progress progress(cases.size(), Progress::Shows::nothing);
    run_pool(bench, cases, jobs_of(options), progress,
             [&](const Record& record) { return take(record); });
    for (const Aggregate& each : aggregate_bias(records))
      if (each.leans && !result.good) take(record_of(each));
    result.seconds = progress.seconds();
  }
};

// What the device or a worker throws is the result's reason; never throws itself.
ExamResult sit(const Options& options, const ExamEntry& entry, std::uint64_t seed) {
  Sitting sitting{options, {entry, seed, /*good=*/!entry.is_fault()}, {}, nullptr};
  try {
    sitting.run();
  } catch (const std::exception& problem) {
    sitting.result.good = false;
    sitting.result.why = problem.what();
  }
  return sitting.result;
}

std::string exam_line(const ExamResult& result) {
  const char* verdict = result.entry.is_fault() ? (result.good ? "killed" : "SURVIVES")
                                                : (result.good ? "passes" : "FAILS");
  return fmt::format("{:<9}{:<26}{:<14}seed {:<4}{:>6} of {:>6} cases {:>7.1f} s  {}{}\n", verdict,
                     result.entry.name, result.entry.family, result.seed, result.run, result.cases,
                     result.seconds, result.first,
                     result.good || result.why.empty() ? "" : ": " + result.why);
}

}  // namespace

// ---- All sittings

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
  refuse(
      "selftest: the exam's plugin is in none of {}; it is built with "
      "Backplane's tests (target backplane_exam): --plugin PATH",
      looked);
}

std::string find_faults(const Options& options) {
  if (!options.faults.empty()) return options.faults;
  const fs::path beside = fs::path(options.plugin).parent_path();
  for (const fs::path& place : {beside / "exam/faults.json", beside / "faults.json",
                                fs::path("tests/plugins/exam/faults.json")})
    if (fs::exists(place)) return place;
  refuse("selftest: no faults.json beside {}; --faults FILE", options.plugin);
}

std::vector<ExamEntry> entries_of(const Options& options) {
  std::vector<ExamEntry> entries = read_exam(find_faults(options));
  if (!options.only.empty())
    std::erase_if(entries, [&](const ExamEntry& entry) {
      return std::ranges::none_of(
          options.only, [&](const std::string& glob) { return matches_glob(glob, entry.name); });
    });
  if (options.tenth >= 0) {
    std::size_t index = 0;
    const auto part = static_cast<std::size_t>(options.tenth % parts_of_the_exam);
    std::erase_if(entries, [&](const ExamEntry&) { return index++ % parts_of_the_exam != part; });
  }
  if (entries.empty()) refuse("selftest: nothing is chosen");
  return entries;
}

// A sitting, and what came of it.
struct Place {
  ExamEntry entry;
  std::uint64_t seed = 1;
  std::optional<ExamResult> result;
};

// All entries with all seeds, several at once, each with its share of the workers.
class Hall {
 public:
  Hall(const Options& options, const std::vector<ExamEntry>& entries)
      : options_(options), library_(loading::sha256_of_file(options.plugin).value_or("")) {
    std::vector<ExamResult> known;
    if (!options.out.empty()) {
      fs::create_directories(options.out);
      const std::string path = options.out + "/results.jsonl";
      const bool resumes = options.resume && fs::exists(path);
      if (resumes) known = read_results(path, library_, options.older);
      file_ = std::make_unique<Journal>(path, resumes);
    }
    for (int number = 1; number <= options.seeds; ++number)
      for (const ExamEntry& entry : entries) {
        const auto seed = static_cast<std::uint64_t>(number);
        Place& place = places_.emplace_back(Place{entry, seed, std::nullopt});
        const auto found = std::ranges::find_if(known, [&](const ExamResult& each) {
          return each.entry.name == entry.name && each.entry.family == entry.family &&
                 each.seed == seed;
        });
        if (found == known.end()) continue;
        place.result = *found;
        place.result->entry = entry;
      }
    options_.jobs = std::max(1, jobs_of(options) / options.at_once);
  }

  void run() {
    std::vector<std::thread> threads;
    for (int i = 0; i < options_.at_once; ++i) threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
    if (problem_) std::rethrow_exception(problem_);
  }

  // In the order of seeds and entries; those that were interrupted have no result.
  const std::vector<Place>& places() const { return places_; }

 private:
  void work() {
    for (std::size_t at = next_++; at < places_.size(); at = next_++) {
      Place& place = places_[at];
      if (place.result) continue;
      ExamResult result = sit(options_, place.entry, place.seed);
      if (InterruptGuard::requested()) return;
      const std::scoped_lock guard(lock_);
      try {
        if (file_ != nullptr) file_->write(line_of(result, library_));
      } catch (...) {
        problem_ = std::current_exception();
        return;
      }
      fmt::print("{}", exam_line(result));
      std::fflush(stdout);
      place.result = std::move(result);
    }
  }

  Options options_;
  const std::string library_;  // the digest of the exam's plugin
  std::unique_ptr<Journal> file_;
  std::vector<Place> places_;
  std::atomic<std::size_t> next_{0};
  std::mutex lock_;
  std::exception_ptr problem_;
};

// Where only some are chosen, those of the others as the page has them so far.
void write_page(const Options& options, const std::vector<ExamResult>& results) {
  std::vector<ExamResult> all;
  const std::string before = fs::exists(options.write) ? read_whole_file(options.write) : "";
  for (const ExamEntry& entry : read_exam(find_faults(options))) {
    std::vector<ExamResult> of_entry;
    std::ranges::copy_if(results, std::back_inserter(of_entry),
                         [&](const ExamResult& each) { return each.entry.name == entry.name; });
    if (of_entry.empty()) try {
        of_entry = read_exam_page(before, entry);
      } catch (const std::logic_error&) {
        refuse(
            "selftest: {}: the row of {} cannot be read; write the page to another place, or "
            "choose all",
            options.write, entry.name);
      }
    all.insert(all.end(), of_entry.begin(), of_entry.end());
  }
  write_whole_file(options.write, exam_page(all));
}

}  // namespace

int run_selftest(const Options& given) {
  Options options = given;
  if (options.plugin.empty()) options.plugin = find_exam();
  const InterruptGuard guard;
  Hall hall(options, entries_of(options));
  hall.run();
  std::vector<ExamResult> results;
  for (const Place& place : hall.places())
    if (place.result) results.push_back(*place.result);
  if (InterruptGuard::requested()) {
    fmt::print(stderr, "selftest: interrupted after {} of {}\n", results.size(),
               hall.places().size());
    return exit_interrupted;
  }
  if (!options.write.empty()) write_page(options, results);
  const auto good = std::ranges::count_if(results, &ExamResult::good);
  fmt::print("{} of {} as they should be\n", good, results.size());
  return static_cast<std::size_t>(good) == results.size() ? 0 : exit_failed;
}

}  // namespace bp::conform
