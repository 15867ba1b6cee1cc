#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include <backplane/loading/check_candidate.hpp>
#include <backplane/loading/child_process.hpp>
#include <backplane/loading/file_trust.hpp>
#include <backplane/loading/plugin_check.hpp>
#include <backplane/loading/plugin_library.hpp>
#include <backplane/loading/sha256.hpp>

namespace bp::loading {
namespace {

namespace fs = std::filesystem;

std::string find_distrust(const fs::path& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return path.string() + ": cannot be looked at (" + std::strerror(errno) + ")";
  const std::string what = S_ISDIR(status.st_mode) ? "the folder " : "the file ";
  if ((status.st_mode & S_IWOTH) != 0)
    return what + path.string() + " can be written by everyone; `chmod o-w` it" +
           (S_ISDIR(status.st_mode) ? ", or move the plugin elsewhere" : "");
  if (status.st_uid != 0 && status.st_uid != geteuid())
    return what + path.string() + " belongs to user " + std::to_string(status.st_uid) +
           ", neither to root nor to you (user " + std::to_string(geteuid()) +
           "); copy it to your own";
  return {};
}

// Whoever can write a manifest chooses the library, so it is asked for as well.
std::string check_both(const Candidate& candidate, const Environment& environment,
                       std::vector<std::string>& warnings) {
  for (const fs::path& file : {candidate.manifest_file, candidate.library}) {
    if (file.empty()) continue;
    Trust trust = check_trust(file, environment);
    if (!trust.problem.empty()) return std::move(trust.problem);
    if (!trust.warning.empty()) warnings.push_back(std::move(trust.warning));
  }
  return {};
}

std::string check_lint(const LintReport& report, std::vector<std::string>& warnings) {
  for (const Finding& finding : report.findings) {
    if (finding.severity == Severity::refuse) return finding.sentence;
    warnings.push_back(finding.sentence);
  }
  return {};
}

std::string check_sum(const Candidate& candidate) {
  if (!candidate.manifest || candidate.manifest->sha256.empty()) return {};
  const std::string& expected = candidate.manifest->sha256;
  const std::string found = sha256_of_file(candidate.library).value_or("unreadable");
  if (found == expected) return {};
  return candidate.library.string() + ": its sha256 is " + found + ", but " +
         candidate.manifest_file.string() + " says " + expected +
         "; install library and manifest together";
}

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

// Which libraries were found good is remembered across processes: in one small file for each, named by a hash (FNV-1a)
// of its path; the path is inside as well.
fs::path entry_of(const fs::path& cache, const fs::path& library) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : library.string())
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  char name[17];
  std::snprintf(name, sizeof(name), "%016llx", static_cast<unsigned long long>(hash));
  return cache / "probed" / name;
}

std::string nanoseconds(const timespec& time) {
  return std::to_string(time.tv_sec * 1'000'000'000 + time.tv_nsec);
}

// Identifies a state of a library: real path, device, inode, size, times, ABI levels. Empty if the file cannot
// be examined. Does not notice when another library that it needs changes.
std::string describe_state(const fs::path& library) {
  struct stat status {};
  if (stat(library.c_str(), &status) != 0) return {};
  // Unlike the time of modification, that of change cannot be set back.
  return library.string() + "\nfile " + std::to_string(status.st_dev) + " " +
         std::to_string(status.st_ino) + " " + std::to_string(status.st_size) + " " +
         nanoseconds(status.st_mtim) + " " + nanoseconds(status.st_ctim) + "\nabi " +
         std::to_string(host_abi_min) + " " + std::to_string(host_abi_max) + "\n";
}

// Both silently do nothing if the folder cannot be used. `state` was described before the probe.
bool was_good(const fs::path& cache, const fs::path& library, const std::string& state) {
  if (cache.empty() || state.empty()) return false;
  std::ifstream stream(entry_of(cache, library), std::ios::binary);
  std::string text(state.size() + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  return stream.eof() && text.compare(0, static_cast<size_t>(stream.gcount()), state) == 0;
}

void remember_good(const fs::path& cache, const fs::path& library, const std::string& state) {
  if (cache.empty() || state.empty()) return;
  const fs::path entry = entry_of(cache, library);
  std::error_code ignored;
  fs::create_directories(entry.parent_path(), ignored);
  // Written aside and renamed: another process sees the whole entry or none.
  std::string aside = entry.string() + ".XXXXXX";
  const int file = mkstemp(aside.data());
  if (file < 0) return;
  const bool written =
      ::write(file, state.data(), state.size()) == static_cast<ssize_t>(state.size());
  ::close(file);
  if (!written || std::rename(aside.c_str(), entry.c_str()) != 0) unlink(aside.c_str());
}

}  // namespace

Trust check_trust(const fs::path& file, const Environment& environment) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  if (error)
    return {file.string() + ": does not exist or cannot be reached: " + error.message(), {}};
  std::string problem = find_distrust(real);
  if (problem.empty()) problem = find_distrust(real.parent_path());
  if (problem.empty()) return {};
  if (environment.trust_any_file)
    return {{}, problem + "; trusted only because BACKPLANE_TRUST_ANY_FILE=1"};
  return {problem + " (or set BACKPLANE_TRUST_ANY_FILE=1 to load it anyway)", {}};
}

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

Verdict check_candidate(const Candidate& candidate, const Environment& environment,
                        std::chrono::milliseconds limit) {
  Verdict verdict;
  verdict.reason = candidate.problem;
  if (verdict.reason.empty()) verdict.reason = check_both(candidate, environment, verdict.warnings);
  if (!verdict.reason.empty()) return verdict;

  verdict.lint = lint(candidate.library, environment);
  verdict.reason = check_lint(verdict.lint, verdict.warnings);
  if (verdict.reason.empty()) verdict.reason = check_sum(candidate);
  if (!verdict.reason.empty()) return verdict;

  verdict.probe = probe(candidate.library, environment, limit);
  verdict.usable = verdict.probe.usable();
  verdict.no_device = verdict.probe.outcome == Probed::no_device;
  if (!verdict.usable)
    verdict.reason = verdict.probe.message;
  else if (verdict.probe.outcome == Probed::not_probed)
    verdict.warnings.push_back(verdict.probe.message);
  return verdict;
}

}  // namespace bp::loading
