#include "trial.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <optional>

#include <backplane/loading/check_candidate.hpp>
#include <backplane/loading/child_process.hpp>

namespace bp::tools {
namespace {

using loading::ChildResult;
namespace fs = std::filesystem;

constexpr std::chrono::milliseconds limit = loading::probe_limit;  // of each step
constexpr std::size_t most_devices = 8;  // that are tried after another has ended the process

// What the other process has written: see attempt.cpp.
struct Report {
  std::string step, thrown;
  std::optional<std::uint32_t> device;
  bool loaded = false, used = false, unloaded = false;
  std::map<std::uint32_t, std::string> errors;
  std::vector<std::string> warnings;
};

// The first word; the rest stays.
std::string take_word(std::string& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  std::string word = text.substr(0, end);
  text.erase(0, std::min(end + 1, text.size()));
  return word;
}
std::uint32_t number_in(const std::string& text) {
  return static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 10));
}

void read_line(std::string line, Report& report) {
  const std::string word = take_word(line);
  if (word == "step") report.step = line;
  if (word == "device") report.device = number_in(line);
  if (word == "threw") report.thrown = line;
  if (word == "loaded") report.loaded = true;
  if (word == "used") report.used = true;
  if (word == "unloaded") report.unloaded = true;
  if (word == "warning") report.warnings.push_back(line);
  if (word == "error") {
    const std::uint32_t device = number_in(take_word(line));
    report.errors[device] = line;
  }
}

Report read_report(const std::string& output) {
  Report report;
  std::size_t begin = 0;
  // The last line may be cut off.
  for (std::size_t end; (end = output.find('\n', begin)) != std::string::npos; begin = end + 1)
    read_line(output.substr(begin, end - begin), report);
  return report;
}

// How the process ended before its time; empty if it did not.
std::string sentence_of(const fs::path& library, const ChildResult& child, const Report& report) {
  const std::string where =
      "in " + (report.unloaded ? "its destructors, at the end of the process" : report.step);
  const std::string path = library.string() + ": ";
  if (!report.thrown.empty())
    return path + "threw a C++ exception out of " + report.thrown +
           ", which may not cross the interface; tell its maker";
  if (!child.hung && child.signal == 0 && (report.unloaded ? child.exit_code == 0 : !report.loaded))
    if (report.unloaded || child.exit_code == refused_exit_code) return {};
  return path + loading::describe_end(child, where, limit) + "; tell its maker";
}

}  // namespace

Trial try_plugin(const fs::path& library) {
  Trial trial;
  std::vector<std::string> words = {"try", library.string()};
  for (std::size_t i = 0; i < most_devices; ++i) {
    const ChildResult child =
        loading::run_child("/proc/self/exe", words, limit, loading::ChildOutput::standard,
                           loading::ChildLimit::silence);
    const Report report = read_report(child.output);
    if (!child.problem.empty() || report.step.empty())
      return trial;  // it came to nothing of the plugin's
    trial.errors.insert(report.errors.begin(), report.errors.end());
    trial.warnings = report.warnings;
    trial.opened = report.used;
    const std::string sentence = sentence_of(library, child, report);
    if (sentence.empty()) return trial;
    if (report.used) {
      trial.warnings.push_back(sentence);
      return trial;
    }
    if (!report.loaded || !report.device) {
      trial.problem = sentence;
      trial.function = report.step;
      return trial;
    }
    trial.lost_devices[*report.device] = sentence;
    words.push_back(std::to_string(*report.device));
  }
  return trial;
}

Tried try_candidate(const loading::Candidate& candidate, const loading::Environment& environment) {
  Tried tried{candidate, check_candidate(candidate, environment), {}};
  if (tried.verdict.usable) tried.trial = try_plugin(candidate.library);
  return tried;
}

std::vector<Tried> try_candidates(const loading::Environment& environment, const Options& options) {
  std::vector<std::future<Tried>> running;
  for (const loading::Candidate& candidate : discover(environment, options.plugins))
    running.push_back(std::async(std::launch::async, [candidate, &environment] {
      return try_candidate(candidate, environment);
    }));
  std::vector<Tried> all;
  for (auto& each : running) all.push_back(each.get());
  return all;
}

}  // namespace bp::tools
