// What ran where in this process, for `backplane fallbacks`.
#pragma once

#include <string>

namespace bp::tracing {

// Writes the counters of all calls to a new file of the folder, as JSON; a warning if that cannot be.
void write_counts(const std::string& folder);

}  // namespace bp::tracing
