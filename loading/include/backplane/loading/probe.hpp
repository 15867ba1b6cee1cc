// Runs the first steps of a library that was not seen before in another process, so that a crash or hang ends
// only that process and becomes an error message here.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include <backplane/loading/environment.hpp>
#include <backplane/tensor/api.hpp>

namespace bp::loading {

enum class Probed {
  good,
  no_device,   // loads, but reports that it has no device here: not an error
  refused,     // could not be opened, or shares no ABI level with this host
  crashed,     // a signal ended it
  hung,        // did not finish within the limit
  not_probed,  // the helper program is missing or could not be started
};

struct ProbeResult {
  Probed outcome = Probed::not_probed;
  std::string message;      // one sentence; empty if good
  bool from_cache = false;  // was good before and has not changed since

  // If the helper is missing, that is not the plugin's fault.
  bool usable() const { return outcome == Probed::good || outcome == Probed::not_probed; }
};

inline constexpr std::chrono::milliseconds probe_limit{5000};

// Runs environment.probe_program on `library`, unless user_cache has an entry that it was good (by real path,
// inode, size and times). Works without a cache if that cannot be read or written.
// Threads: any. Leaves no process behind; children that the library starts are killed with it.
BP_API ProbeResult probe(const std::filesystem::path& library, const Environment& environment,
                         std::chrono::milliseconds limit = probe_limit);

}  // namespace bp::loading
