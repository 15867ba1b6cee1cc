// Who else could have written a file that is about to run inside this process?
#pragma once

#include <filesystem>
#include <string>

#include <backplane/loading/environment.hpp>
#include <backplane/tensor/api.hpp>

namespace bp::loading {

struct Trust {
  std::string problem;  // why the file is refused, in one sentence; empty: it is trusted
  std::string
      warning;  // the problem, if BACKPLANE_TRUST_ANY_FILE lets the file pass in spite of it
};

// Refuses what is world-writable, or owned by neither root nor the caller: the file itself and the
// folder in which it lies (a sticky one, such as /tmp, too: others may put files beside it). Links
// are followed.
BP_API Trust check_trust(const std::filesystem::path& file, const Environment& environment);

}  // namespace bp::loading
