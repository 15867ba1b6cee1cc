// A plugin tried in another process, with all that an application would meet of it: loading, each device, and the end. What
// ends that process, or never answers, is a sentence here.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <backplane/loading/check_candidate.hpp>
#include <backplane/loading/discovery.hpp>

#include "commands.hpp"

namespace bp::tools {

// Of a trial that could not go on, and has said why.
inline constexpr int refused_exit_code = 5;

struct Trial {
  std::string
      problem;  // why it must not be loaded here; empty: it may. What it returns as an error is not such a reason.
  std::string function;  // in which that happened: "bp_plugin.init"
  // By the plugin's index of the device, since another plugin of the same name changes that of the device.
  std::map<std::uint32_t, std::string> lost_devices;  // why it must not be opened here
  std::map<std::uint32_t, std::string> errors;        // what it says when it is opened
  std::vector<std::string> warnings;                  // what happens at its end, and to memory
  bool opened = false;  // its devices were opened, but for those above
};

// Runs `backplane try` on the library, and once more for each device that ends it. Without that process, as where none can
// be started, a trial says nothing. Threads: any.
Trial try_plugin(const std::filesystem::path& library);

// A candidate after all checks and its trial.
struct Tried {
  loading::Candidate candidate;
  loading::Verdict verdict;
  Trial trial;
};
// All candidates, in their order; at the same time, since each waits for others.
std::vector<Tried> try_candidates(const loading::Environment& environment, const Options& options);
Tried try_candidate(const loading::Candidate& candidate, const loading::Environment& environment);

// The other side: tries the library in this process.
int attempt(const Options& options);

}  // namespace bp::tools
