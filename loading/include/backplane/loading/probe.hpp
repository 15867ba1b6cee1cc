// Runs the first steps of a library that was not seen before in another process, so that a crash or a
// hang in them ends that process and is a sentence here.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include <backplane/loading/environment.hpp>
#include <backplane/tensor/api.hpp>

namespace bp::loading {

enum class Probed {
  good,
  no_device,   // loads, but says that there is nothing for it here: not an error
  refused,     // could not be opened, or speaks no ABI level of this host
  crashed,     // a signal ended it
  hung,        // did not end within the limit
  not_probed,  // the helper program is missing or could not be started
};

struct ProbeResult {
  Probed outcome = Probed::not_probed;
  std::string message;      // one sentence; empty if good
  bool from_cache = false;  // was good before, and has not changed since

  // A missing helper does not speak against a plugin.
  bool usable() const { return outcome == Probed::good || outcome == Probed::not_probed; }
};

inline constexpr std::chrono::milliseconds probe_limit{5000};

// Starts environment.probe_program on `library`, or remembers that it was good: in user_cache, by
// real path, inode, size and times. A cache that cannot be read or written is as none.
// Threads: any. Leaves no process behind; children that the library starts are killed with it.
BP_API ProbeResult probe(const std::filesystem::path& library, const Environment& environment,
                         std::chrono::milliseconds limit = probe_limit);

}  // namespace bp::loading
