#include "template_folder.hpp"

#include <fmt/format.h>

#include <backplane/tensor/error.hpp>

namespace bp::tools {

std::filesystem::path template_folder() {
  namespace fs = std::filesystem;
  const fs::path installed = fs::read_symlink("/proc/self/exe").parent_path().parent_path() /
                             "share/backplane/backend_template";
  const fs::path built_from = BP_TEMPLATE_FOLDER;
  for (const fs::path& folder : {installed, built_from})
    if (fs::is_regular_file(folder / "plugin.cpp")) return folder;
  throw Error(
      ErrorClass::bad_argument,
      fmt::format("new-backend: the template is neither in {} nor in {}; install Backplane's SDK",
                  installed.string(), built_from.string()));
}

}  // namespace bp::tools
