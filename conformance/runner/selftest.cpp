// backplane conform selftest: whether the suite finds what is built into the exam plugin, and nothing else.
#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <mutex>
#include <optional>
#include <thread>

#include "refuse.hpp"
#include "report/files.hpp"
#include "runner/commands.hpp"
#include "runner/exam.hpp"
#include "runner/interrupt.hpp"

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
      return std::none_of(options.only.begin(), options.only.end(),
                          [&](const std::string& glob) { return matches_glob(glob, entry.name); });
    });
  if (options.tenth >= 0) {
    std::size_t index = 0;
    const auto part = static_cast<std::size_t>(options.tenth % parts_of_the_exam);
    std::erase_if(entries, [&](const ExamEntry&) { return index++ % parts_of_the_exam != part; });
  }
  if (entries.empty()) refuse("selftest: nothing is chosen");
  return entries;
}

// All entries with all seeds, several at once, each with its share of the workers.
class Hall {
 public:
  Hall(const Options& options, const std::vector<ExamEntry>& entries)
      : options_(options), kept_(options.out, options.plugin, options.resume, options.older) {
    for (int seed = 1; seed <= options.seeds; ++seed)
      for (const ExamEntry& entry : entries)
        places_.push_back({entry, static_cast<std::uint64_t>(seed), std::nullopt});
    for (Place& place : places_) place.result = kept_.find(place.entry, place.seed);
    options_.jobs = std::max(1, jobs_of(options) / options.at_once);
  }

  void run() {
    std::vector<std::thread> threads;
    for (int i = 0; i < options_.at_once; ++i) threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
    if (problem_) std::rethrow_exception(problem_);
  }

  std::size_t size() const { return places_.size(); }
  // In the order of seeds and entries.
  std::vector<ExamResult> results() const {
    std::vector<ExamResult> out;
    for (const Place& place : places_)
      if (place.result) out.push_back(*place.result);
    return out;
  }

 private:
  struct Place {
    ExamEntry entry;
    std::uint64_t seed = 1;
    std::optional<ExamResult> result;
  };

  void work() {
    for (std::size_t at = next_++; at < places_.size(); at = next_++) {
      Place& place = places_[at];
      if (place.result) continue;
      ExamResult result = sit(options_, place.entry, place.seed);
      if (InterruptGuard::requested()) return;
      const std::scoped_lock guard(lock_);
      try {
        kept_.keep(result);
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
  ExamResults kept_;
  std::vector<Place> places_;
  std::atomic<std::size_t> next_{0};
  std::mutex lock_;
  std::exception_ptr problem_;
};

}  // namespace

int run_selftest(const Options& given) {
  Options options = given;
  if (options.plugin.empty()) options.plugin = find_exam();
  const InterruptGuard guard;
  Hall hall(options, entries_of(options));
  hall.run();
  const std::vector<ExamResult> results = hall.results();
  if (InterruptGuard::requested()) {
    fmt::print(stderr, "selftest: interrupted after {} of {}\n", results.size(), hall.size());
    return exit_interrupted;
  }
  if (!options.write.empty()) write_whole_file(options.write, exam_page(results));
  const auto good = std::count_if(results.begin(), results.end(),
                                  [](const ExamResult& each) { return each.good; });
  fmt::print("{} of {} as they should be\n", good, results.size());
  return static_cast<std::size_t>(good) == results.size() ? 0 : exit_failed;
}

}  // namespace bp::conform
