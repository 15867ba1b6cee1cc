// Programs that were wrong once: kept/*.txt, each file several, with an empty line between them.
#pragma once

#include <string>
#include <vector>

#include "autograd/programs/program.hpp"

namespace bp::test::programs {

struct KeptProgram {
  std::string where;  // file and line
  Program program;
};

// Throws std::runtime_error with file and line of one that cannot be read.
std::vector<KeptProgram> kept_programs();

}  // namespace bp::test::programs
