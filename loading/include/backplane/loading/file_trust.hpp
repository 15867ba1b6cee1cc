// Checks who else could have written a file whose code is about to run inside this process.
#pragma once

#include <filesystem>
#include <string>

#include <backplane/loading/environment.hpp>
#include <backplane/tensor/api.hpp>

namespace bp::loading {

struct Trust {
  std::string problem;  // why the file is refused, in one sentence; empty if it is trusted
  std::string warning;  // the problem, if BACKPLANE_TRUST_ANY_FILE lets the file pass anyway
};

// Refuses the file if it or its folder is world-writable, or owned by neither root nor the caller. A sticky
// folder, such as /tmp, is refused too, since others may put files beside it. Follows links.
BP_API Trust check_trust(const std::filesystem::path& file, const Environment& environment);

}  // namespace bp::loading
