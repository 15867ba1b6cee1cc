#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include <backplane/loading/child_process.hpp>
#include <backplane/loading/plugin_check.hpp>
#include <backplane/loading/plugin_library.hpp>
#include <backplane/loading/probe.hpp>

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
