// backplane conform: all cases of a selection on a device, into a folder.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <optional>
#include <sys/utsname.h>
#include <thread>
#include <unordered_set>

#include "refuse.hpp"
#include "report/files.hpp"
#include "report/report.hpp"
#include "runner/aggregate.hpp"
#include "runner/commands.hpp"
#include "runner/interrupt.hpp"
#include "runner/pool.hpp"

#ifndef BP_VERSION
#  define BP_VERSION ""
#endif

namespace bp::conform {
namespace {

namespace fs = std::filesystem;

Json describe_host() {
  utsname system{};
  uname(&system);
  std::string processor;
  std::ifstream cpus("/proc/cpuinfo");
  for (std::string line; processor.empty() && std::getline(cpus, line);)
    if (line.starts_with("model name"))
      processor = line.substr(std::min(line.find(':') + 2, line.size()));
  return {{"system", system.sysname},
          {"release", system.release},
          {"machine", system.machine},
          {"processor", processor},
          {"cores", std::thread::hardware_concurrency()}};
}

// A run in the making: the folder, its journal, and which cases are still to be run.
struct Going {
  std::string folder, path;
  std::vector<Case> cases;
  std::size_t num_cases = 0;
  bool finished = false;  // nothing is left to resume
  std::unique_ptr<Journal> journal;

  void start_anew(const Bench& bench, const Selection& selection, const Options& options) {
    std::error_code none;
    if (fs::is_regular_file(path)) fs::rename(path, folder + "/journal.old.jsonl", none);
    journal = std::make_unique<Journal>(path, /*resume=*/false);
    Json header = header_of(bench, options);
    header["selection"] = selection;
    header["digest"] = digest_of(cases);
    header["cases"] = cases.size();
    journal->write({{"run", header}});
  }

  void go_on(const Bench& bench) {
    const Run before = read_journal(path);
    const auto refuse_resuming = [&](const std::string& why) {
      refuse("conform: cannot resume {}: {}", path, why);
    };
    if (before.header.at("digest") != digest_of(cases))
      refuse_resuming("it is of other cases; give the same options, or leave out --resume");
    if (before.subject.library_sha256 != bench.subject.library_sha256)
      refuse_resuming(fmt::format("{} has changed since", bench.subject.library));
    finished = before.ended && !before.interrupted;
    std::unordered_set<std::string> done;
    for (const Record& record : before.records) done.insert(record.name);
    std::erase_if(cases, [&](const Case& one) { return done.contains(name_of(one)); });
    finished = finished && cases.empty();
    journal = std::make_unique<Journal>(path, /*resume=*/true);
    if (!finished) journal->write({{"resume", {{"started", now_seconds()}}}});
  }
};

// Every case of `going` into its journal; false if interrupted.
bool run_cases(Going& going, Bench& bench, const Options& options) {
  bench.plan.journal = going.journal->file();
  bench.plan.stop = &InterruptGuard::requested();
  Progress progress(going.cases.size(),
                    options.quiet ? Progress::Shows::failures : Progress::Shows::all,
                    read_journal(going.path).header);
  run_pool(bench, going.cases, jobs_of(options), progress, [&](const Record& record) {
    going.journal->write(record);
    return true;
  });
  const bool interrupted = InterruptGuard::requested();
  if (!interrupted) write_aggregates(read_journal(going.path).records, *going.journal);
  going.journal->write({{"end", {{"seconds", progress.seconds()}, {"interrupted", interrupted}}}});
  return !interrupted;
}

bool has_journal(const std::string& path) {
  std::error_code none;
  return fs::exists(path, none) && fs::file_size(path, none) > 0;
}

}  // namespace

std::string usual_folder(const std::string& device) {
  std::string folder = "conform-" + device;
  std::replace(folder.begin(), folder.end(), ':', '-');
  return folder;
}

std::string folder_of(const Options& options, const std::string& usual) {
  const std::string folder = options.out.empty() ? usual : options.out;
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (problem) refuse("conform: cannot make the folder {}: {}", folder, problem.message());
  return folder;
}

Json header_of(const Bench& bench, const Options& options) {
  return {{"tool", "backplane-conform " BP_VERSION},
          {"subject", to_json(bench.subject)},
          {"challenge", options.challenge},
          {"environment", options.environment},
          {"plugin", bench.plan.plugin},
          {"started", now_seconds()},
          {"host", describe_host()}};
}

int run_conform(const Options& options) {
  if (!options.through.empty()) return run_through(options);
  if (!options.waivers.empty()) read_waivers(options.waivers);  // a bad one is better known now
  std::optional<InterruptGuard> guard(std::in_place);  // finding the cases takes a while, too
  const Selection selection = selection_of(options);
  Bench bench = bench_of(options);
  Going going;
  going.cases = derive_cases(bench.subject, selection);
  if (going.cases.empty()) refuse("conform: no case matches {}", fmt::join(selection.filters, " "));
  going.num_cases = going.cases.size();
  going.folder = folder_of(options, usual_folder(options.device));
  going.path = going.folder + "/journal.jsonl";
  if (options.resume && has_journal(going.path))
    going.go_on(bench);
  else
    going.start_anew(bench, selection, options);

  if (!going.finished && !run_cases(going, bench, options)) {
    const std::size_t done = read_journal(going.path).records.size();
    fmt::print(stderr,
               "conform: interrupted after {} of {} cases; {} keeps them, and --resume continues\n",
               done, going.num_cases, going.path);
    return exit_interrupted;
  }
  guard.reset();
  going.journal.reset();
  return write_reports(going.folder, options.waivers, stdout);
}

}  // namespace bp::conform
