// Where the files lie that `backplane new-backend` starts from.
#pragma once

#include <filesystem>

namespace bp::tools {

// Installed beside this program, else in the source tree that it was built from. Throws naming both if neither is there.
std::filesystem::path template_folder();

}  // namespace bp::tools
