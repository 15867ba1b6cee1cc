// Everything that loading reads from its environment, captured at one time, so that tests can provide their
// own, and a privileged process (setuid and the like) is not controlled by its user's variables.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <backplane/tensor/api.hpp>

namespace bp::loading {

struct Environment {
  // AT_SECURE: the variables below were not read, and the user's folders are not used.
  bool privileged = false;

  std::string plugin_path;      // BACKPLANE_PLUGIN_PATH: files and folders, separated by ':'
  bool trust_any_file = false;  // BACKPLANE_TRUST_ANY_FILE=1
  std::string library_path;     // LD_LIBRARY_PATH

  // Each absolute, or empty if there is none.
  std::filesystem::path user_plugins;       // ($XDG_DATA_HOME or ~/.local/share)/backplane/plugins
  std::filesystem::path user_certificates;  // the same with /certificates
  std::filesystem::path user_cache;         // ($XDG_CACHE_HOME or ~/.cache)/backplane
  std::filesystem::path library_folder;     // where libbackplane is
  std::filesystem::path probe_program;      // BACKPLANE_PROBE, or backplane-probe in ../bin of it

  std::vector<std::filesystem::path> system_plugins;
  // Where plugins are if they were installed for a libbackplane of the system, such as another maker's Debian package:
  // folders of libraries besides library_folder.
  std::vector<std::filesystem::path> system_libraries;

  // The environment of this process. Threads: any, but none may change variables meanwhile.
  BP_API static Environment current();

  using Variables = std::function<std::optional<std::string>(const char* name)>;

  // The same from given variables; `library_folder` as above.
  BP_API static Environment from(const Variables& variables, bool privileged,
                                 const std::filesystem::path& library_folder);
};

}  // namespace bp::loading
