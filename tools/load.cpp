#include "load.hpp"

#include <algorithm>
#include <fmt/format.h>

#include <backplane/loading/loader.hpp>
#include <backplane/tensor/error.hpp>

#include "trial.hpp"

namespace bp::tools {
namespace {

using loading::Candidate;
using loading::Environment;
using loading::Origin;

bool is_named(const Candidate& candidate) {
  return candidate.origin == Origin::explicit_path;
}

// Of "acme:0", and of "vendor:acme:0". As the loader does: what has no manifest may offer anything.
bool may_offer(const Candidate& candidate, const std::string& device) {
  if (!candidate.manifest) return candidate.usable();
  const std::string padded = fmt::format(":{}:", device);
  return padded.find(fmt::format(":{}:", candidate.name())) != std::string::npos;
}

// Null if it cannot be used here, for the reason in `why`. `died`: it did not survive its trial.
const Backend* load(const Tried& tried, std::string& why, bool& died) {
  died = !tried.trial.problem.empty();
  why = died ? tried.trial.problem : tried.verdict.reason;
  if (died || !tried.verdict.usable) return nullptr;
  try {
    return &load_plugin(tried.candidate.library);
  } catch (const Error& error) {
    why = error.what();
    return nullptr;
  }
}

}  // namespace

void load_named_plugins(const Options& options) {
  if (options.plugins.empty()) return;
  for (const Candidate& candidate : discover(Environment::current(), options.plugins)) {
    if (!is_named(candidate)) continue;
    if (!candidate.usable()) throw_error(ErrorClass::bad_argument, candidate.problem);
    load_plugin(candidate.library);
  }
}

void try_named_plugins(const Options& options) {
  const Environment environment = Environment::current();
  for (const Candidate& candidate : discover(environment, options.plugins)) {
    const auto offers = [&](const std::string& device) { return may_offer(candidate, device); };
    const bool is_wanted = std::any_of(options.devices.begin(), options.devices.end(), offers);
    if (!is_wanted && !is_named(candidate)) continue;
    const Trial trial = try_candidate(candidate, environment).trial;
    if (!trial.problem.empty()) throw_error(ErrorClass::internal, trial.problem);
    for (const auto& [device, why] : trial.lost_devices)
      if (is_wanted) throw_error(ErrorClass::device_lost, why);
  }
}

std::vector<LoadProblem> load_plugins(const Options& options) {
  const std::vector<Tried> all = try_candidates(Environment::current(), options);
  for (const Tried& tried : all)
    if (is_named(tried.candidate) && !tried.candidate.usable())
      throw_error(ErrorClass::bad_argument, tried.candidate.problem);
  std::vector<LoadProblem> problems;
  for (const Tried& tried : all) {
    const bool named = is_named(tried.candidate);
    std::string why;
    bool died = false;
    const Backend* backend = load(tried, why, died);
    if (!backend) {
      if (died || named) problems.push_back({why, named, nullptr});
      continue;
    }
    for (const DeviceRecord* device : backend->devices)
      if (const auto lost = tried.trial.lost_devices.find(device->index);
          lost != tried.trial.lost_devices.end())
        problems.push_back({lost->second, named, device});
  }
  return problems;
}

}  // namespace bp::tools
