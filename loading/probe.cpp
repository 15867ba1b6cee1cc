#include <cstring>
#include <string_view>

#include <backplane/loading/child_process.hpp>
#include <backplane/loading/plugin_library.hpp>
#include <backplane/loading/probe.hpp>

#include "probe_cache.hpp"

namespace bp::loading {
namespace {

namespace fs = std::filesystem;

// What backplane-probe wrote: a line "step NAME" before each step, then "OUTCOME message".
struct HelperReport {
  std::string_view step;  // the last one; empty: it did not come so far
  std::string_view outcome;
  std::string_view message;
};

HelperReport read_report(std::string_view output) {
  HelperReport report;
  while (!output.empty()) {
    const size_t end = output.find('\n');
    if (end == std::string_view::npos) break;  // cut off
    const std::string_view line = output.substr(0, end);
    output.remove_prefix(end + 1);
    const size_t space = std::min(line.find(' '), line.size());
    const std::string_view rest = line.substr(std::min(space + 1, line.size()));
    if (line.substr(0, space) == "step") {
      report.step = rest;
    } else {
      report.outcome = line.substr(0, space);
      report.message = rest;
    }
  }
  return report;
}

std::string describe_step(std::string_view step) {
  if (step == "open") return "while it was opened, in its constructors";
  if (step == "negotiate") return "in bp_get_plugin_v1";
  if (step == "probe") return "in bp_plugin.probe";
  if (step == "close") return "while it was closed, in its destructors";
  return "in step " + std::string(step);
}

ProbeResult judge(const ChildResult& child, const fs::path& library, const fs::path& helper,
                  std::chrono::milliseconds limit) {
  const std::string path = library.string() + ": ";
  const HelperReport report = read_report(child.output);
  if (!child.problem.empty() || report.step.empty())
    return {Probed::not_probed,
            path + "was not probed, since " +
                (child.problem.empty() ? helper.string() + " is not the program for it"
                                       : "its helper did not start: " + child.problem) +
                "; reinstall Backplane or set BACKPLANE_PROBE"};
  const std::string where = describe_step(report.step);
  const std::string end = path + describe_end(child, where, limit) + "; tell its maker";
  if (child.hung) return {Probed::hung, end};
  if (child.signal != 0) return {Probed::crashed, end};
  if (report.outcome == "good") return {Probed::good, ""};
  if (report.outcome == "no_device") return {Probed::no_device, std::string(report.message)};
  if (report.outcome == "not_opened")
    return {Probed::refused, explain_dlerror(std::string(report.message), library)};
  if (report.outcome == "refused") return {Probed::refused, std::string(report.message)};
  return {Probed::crashed, end};
}

}  // namespace

ProbeResult probe(const fs::path& library, const Environment& environment,
                  std::chrono::milliseconds limit) {
  std::error_code error;
  const fs::path real = fs::canonical(library, error);
  if (error)
    return {Probed::refused,
            library.string() + ": does not exist or cannot be reached: " + error.message()};
  const std::string state = describe_state(real);
  if (was_good(environment.user_cache, real, state)) return {Probed::good, "", true};
  const fs::path& helper = environment.probe_program;
  ProbeResult result = judge(run_child(helper, {real.string()}, limit), real, helper, limit);
  if (result.outcome == Probed::good) remember_good(environment.user_cache, real, state);
  return result;
}

}  // namespace bp::loading
