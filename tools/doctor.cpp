// Takes every candidate along the way that loading would take, first in another process, and says where each of them ended.
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <backplane/loading/certified.hpp>
#include <backplane/loading/check_candidate.hpp>
#include <backplane/loading/discovery.hpp>
#include <backplane/loading/file_trust.hpp>
#include <backplane/loading/loader.hpp>

#include "commands.hpp"
#include "output.hpp"
#include "trial.hpp"

namespace bp::tools {
namespace {

using loading::Candidate;
using loading::Environment;
using loading::Probed;
using loading::Verdict;

struct DeviceFinding {
  std::string name;
  std::string description;
  std::string problem;  // empty: it opened
  std::string level;    // as certified; empty: unknown
};

struct Examination {
  Candidate candidate;
  std::string stopped_at;  // a step's name; empty: all passed
  std::string reason;      // why it stopped there
  bool no_device = false;  // it stopped there, and that is not a fault
  std::vector<std::string> warnings;
  std::vector<DeviceFinding> devices;
  std::string offers;  // of a plugin without devices: its extensions, as its manifest says

  bool usable() const { return has_device() || !offers.empty(); }
  bool has_device() const {
    for (const DeviceFinding& device : devices)
      if (device.problem.empty()) return true;
    return false;
  }
};

// The steps in their order. check_candidate stops at the first refusal, and says which by what it has
// not filled in.
std::string refusing_step(const Candidate& candidate, const Verdict& verdict,
                          const Environment& environment) {
  if (!candidate.usable()) return "search";
  for (const auto& file : {candidate.manifest_file, candidate.library})
    if (!file.empty() && !check_trust(file, environment).problem.empty()) return "trust";
  if (verdict.lint.refused()) return "lint";
  return verdict.probe.outcome == Probed::not_probed ? "checksum" : "probe";
}

// In this process only where the trial did not do it: what it opened opens here as well.
std::string problem_of(const DeviceRecord& record, const Trial& trial) {
  if (const auto lost = trial.lost_devices.find(record.index); lost != trial.lost_devices.end())
    return lost->second;
  if (const auto error = trial.errors.find(record.index); error != trial.errors.end())
    return error->second;
  if (trial.opened) return {};
  try {
    device_record(record.device);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

void add_devices(const Backend& backend, const Trial& trial, Examination& result) {
  for (const DeviceRecord* record : backend.devices) {
    DeviceFinding finding{record->name, record->info.name, "", ""};
    const CertifiedLevel level = certified_level(record->device);
    finding.level = level.profile;
    if (!level.profile.empty() && level.device_name != record->info.name)
      finding.level += " (certified on " + level.device_name + ")";
    for (const std::string& problem : level.problems)
      if (std::find(result.warnings.begin(), result.warnings.end(), problem) ==
          result.warnings.end())
        result.warnings.push_back(problem);
    finding.problem = problem_of(*record, trial);
    if (!finding.problem.empty()) {
      result.stopped_at = "devices";
      result.reason = finding.problem;
    }
    result.devices.push_back(std::move(finding));
  }
}

// "init" of "bp_plugin.init"; what has no such name happens while the library is loaded.
std::string step_of(const std::string& function) {
  constexpr std::string_view prefix = "bp_plugin.";
  return function.starts_with(prefix) ? function.substr(prefix.size()) : "load";
}

std::string offers_of(const Candidate& candidate) {
  if (!candidate.manifest || candidate.manifest->offers.empty()) return "extensions";
  return fmt::format("{}", fmt::join(candidate.manifest->offers, ", "));
}

Examination examine(const Tried& tried, const Environment& environment) {
  const Candidate& candidate = tried.candidate;
  const Verdict& verdict = tried.verdict;
  Examination result{candidate, "", "", false, {}, {}, {}};
  result.warnings = verdict.warnings;
  result.warnings.insert(result.warnings.end(), tried.trial.warnings.begin(),
                         tried.trial.warnings.end());
  if (!verdict.usable) {
    result.stopped_at = refusing_step(candidate, verdict, environment);
    result.reason = verdict.reason;
    result.no_device = verdict.no_device;
    return result;
  }
  if (!tried.trial.problem.empty()) {
    result.stopped_at = step_of(tried.trial.function);
    result.reason = tried.trial.problem;
    return result;
  }
  try {
    const Backend& backend = load_plugin(candidate.library);
    if (backend.devices.empty()) result.offers = offers_of(candidate);
    add_devices(backend, tried.trial, result);
  } catch (const Error& error) {
    result.stopped_at = "load";
    result.reason = error.what();
  }
  return result;
}

// Its fields as they were read; null without one.
nlohmann::ordered_json manifest_of(const Candidate& candidate) {
  if (!candidate.manifest) return nullptr;
  const loading::Manifest& manifest = *candidate.manifest;
  return {{"name", manifest.name},
          {"vendor", manifest.vendor},
          {"description", manifest.description},
          {"offers", manifest.offers},
          {"library", manifest.library.string()},
          {"abi_min", manifest.abi_min},
          {"abi_max", manifest.abi_max},
          {"architecture", manifest.architecture},
          {"sha256", manifest.sha256}};
}

nlohmann::ordered_json describe(const Examination& examined) {
  auto list = nlohmann::ordered_json::array();
  for (const DeviceFinding& device : examined.devices)
    list.push_back({{"name", device.name},
                    {"description", device.description},
                    {"problem", device.problem},
                    {"level", device.level}});
  const Candidate& candidate = examined.candidate;
  return {{"name", candidate.name()},
          {"library", candidate.library.string()},
          {"manifest", candidate.manifest_file.string()},
          {"manifest_fields", manifest_of(candidate)},
          {"origin", describe(candidate.origin)},
          {"found_in", candidate.found_in},
          {"usable", examined.usable()},
          {"no_device", examined.no_device},
          {"offers", examined.offers},
          {"stopped_at", examined.stopped_at},
          {"reason", examined.reason},
          {"warnings", examined.warnings},
          {"devices", std::move(list)}};
}

void print_manifest(const Candidate& candidate) {
  if (!candidate.manifest) return;
  const loading::Manifest& manifest = *candidate.manifest;
  fmt::print("  manifest {}: {}{}{}, abi {} to {}, {}{}\n", candidate.manifest_file.string(),
             manifest.vendor.empty() ? "no vendor" : manifest.vendor,
             manifest.description.empty() ? "" : " (" + manifest.description + ")",
             manifest.offers.empty() ? std::string()
                                     : fmt::format(", offers {}", fmt::join(manifest.offers, " ")),
             manifest.abi_min, manifest.abi_max, manifest.architecture,
             manifest.sha256.empty() ? "" : ", with sha256");
}

void print_for_person(const Examination& examined) {
  const Candidate& candidate = examined.candidate;
  const std::string file =
      candidate.library.empty() ? candidate.found_in : candidate.library.string();
  fmt::print("{}  {} ({})\n", paint(candidate.name(), Color::strong), file,
             describe(candidate.origin));
  print_manifest(candidate);
  for (const std::string& warning : examined.warnings)
    fmt::print("  {} {}\n", paint("warning:", Color::warning), warning);
  for (const DeviceFinding& device : examined.devices)
    if (device.problem.empty())
      fmt::print("  {} {}: {}{}\n", paint("used:", Color::good), device.name, device.description,
                 device.level.empty() ? "" : ", level " + device.level);
    else
      fmt::print("  {} {}: {}\n", paint("not used:", Color::bad), device.name, device.problem);
  if (!examined.offers.empty())
    fmt::print("  {} has no devices, and offers {}\n", paint("used:", Color::good),
               examined.offers);
  if (!examined.devices.empty() || !examined.offers.empty()) return;
  fmt::print("  {} {} (step: {})\n",
             paint("not used:", examined.no_device ? Color::faint : Color::bad), examined.reason,
             examined.stopped_at);
}

void print_places(const Environment& environment, const Options& options) {
  fmt::print("Looked for plugins in:\n");
  std::error_code ignored;
  for (const loading::Place& place : loading::search_places(environment, options.plugins)) {
    const bool is_list = place.origin == loading::Origin::plugin_path;
    const bool is_there = is_list || std::filesystem::exists(place.path, ignored);
    fmt::print("  {}{}\n",
               is_there ? place.path.string() : paint(place.path.string(), Color::faint),
               fmt::format(" ({}{})", describe(place.origin), is_there ? "" : "; not there"));
  }
  fmt::print("\n");
}

// What a person should know about the whole, as sentences.
std::vector<std::string> advise(const Environment& environment,
                                const std::vector<Examination>& all) {
  std::vector<std::string> advice;
  if (all.empty()) advice.emplace_back("no plugin was found; 'backplane plugins' shows the places");
  if (environment.privileged)
    advice.emplace_back(
        "this process is privileged, so that BACKPLANE_PLUGIN_PATH and the user's "
        "folder are ignored");
  if (environment.trust_any_file)
    advice.emplace_back("BACKPLANE_TRUST_ANY_FILE=1 lets files of strangers into the process");
  // Not loaded for it: what could be loaded is.
  if (!find_device("cpu"))
    advice.emplace_back(
        "no plugin offers the device cpu, so that an operator without a kernel on "
        "its device has no host to fall back to");
  return advice;
}

}  // namespace

int doctor(const Options& options) {
  const Environment environment = Environment::current();
  std::vector<Examination> all;
  for (const Tried& tried : try_candidates(environment, options))
    all.push_back(examine(tried, environment));
  std::size_t num_usable = 0;
  bool has_device = false;
  for (const Examination& examined : all) {
    num_usable += examined.usable();
    has_device |= examined.has_device();
  }
  const std::vector<std::string> advice = advise(environment, all);

  if (options.json) {
    auto list = nlohmann::ordered_json::array();
    for (const Examination& examined : all) list.push_back(describe(examined));
    auto searched = nlohmann::ordered_json::array();
    for (const loading::Place& place : loading::search_places(environment, options.plugins))
      searched.push_back({{"origin", describe(place.origin)}, {"path", place.path.string()}});
    print_json({{"usable", has_device},
                {"advice", advice},
                {"searched", std::move(searched)},
                {"plugins", std::move(list)}});
  } else {
    print_places(environment, options);
    for (const Examination& examined : all) print_for_person(examined);
    fmt::print("{}{} of {} usable.\n", all.empty() ? "" : "\n", num_usable,
               count_of(all.size(), "plugin"));
    for (const std::string& sentence : advice)
      fmt::print("{} {}\n", paint("note:", Color::warning), sentence);
  }
  return has_device ? 0 : 1;
}

}  // namespace bp::tools
