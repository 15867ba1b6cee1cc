// What the environment asks for. A privileged process is asked for nothing, since files would be written.
#pragma once

#include <string>

namespace bp::tracing {

struct Wishes {
  bool traces = false;
  std::string trace_file;     // a name without "%p"
  std::string shadow;         // a device's name, or empty
  std::string shadow_folder;  // for the inputs of a call that differs
  std::string counts_folder;  // where to leave the counts at the end, or empty
};

// Read once. Threads: any; before that, nobody may change variables meanwhile.
const Wishes& wishes();

}  // namespace bp::tracing
