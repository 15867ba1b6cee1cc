#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

#include <backplane/loading/check_candidate.hpp>
#include <backplane/loading/file_trust.hpp>
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
