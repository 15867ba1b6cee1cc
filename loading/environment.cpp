#include <climits>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <sys/auxv.h>

#include <backplane/loading/elf_lint.hpp>
#include <backplane/loading/environment.hpp>

namespace bp::loading {
namespace {

namespace fs = std::filesystem;

// Where the code of `address` was mapped from. dladdr repeats the path by which a library was asked
// for, which may be relative to a directory that is no longer the current one; the kernel knows better.
fs::path file_that_holds(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) != 0 && info.dli_fname != nullptr && info.dli_fname[0] == '/')
    return info.dli_fname;
  std::ifstream maps("/proc/self/maps");
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  for (std::string line; std::getline(maps, line);) {
    char* end = nullptr;
    const uintptr_t from = std::strtoull(line.c_str(), &end, 16);
    if (*end != '-') continue;
    const uintptr_t to = std::strtoull(end + 1, nullptr, 16);
    const size_t slash = line.find('/');
    if (wanted >= from && wanted < to && slash != std::string::npos) return line.substr(slash);
  }
  return {};
}

fs::path folder_of_this_library() {
  std::error_code ignored;
  return fs::canonical(file_that_holds(reinterpret_cast<const void*>(&Environment::from)), ignored)
      .parent_path();
}

// The XDG rule: a relative path is to be ignored.
fs::path user_folder(const Environment::Variables& variables, const char* xdg,
                     const char* below_home) {
  const fs::path given = variables(xdg).value_or("");
  if (given.is_absolute()) return given / "backplane";
  const fs::path home = variables("HOME").value_or("");
  return home.is_absolute() ? home / below_home / "backplane" : fs::path();
}

// A file of the same prefix: the library lies in its lib, or in lib/x86_64-linux-gnu.
fs::path beside_libraries(const fs::path& library_folder, const char* file) {
  const fs::path outer = library_folder.parent_path().parent_path() / file;
  std::error_code unreadable;
  return fs::exists(outer, unreadable) ? outer : library_folder.parent_path() / file;
}

// The folders of libraries that Linux distributions use, without `own`.
std::vector<fs::path> folders_of_libraries(const fs::path& own) {
  const std::string triplet = std::string(process_architecture()) + "-linux-gnu";
  std::vector<fs::path> folders = {"/usr/local/lib/" + triplet, "/usr/local/lib",
                                   "/usr/lib/" + triplet, "/usr/lib64", "/usr/lib"};
  std::erase(folders, own);
  return folders;
}

}  // namespace

Environment Environment::current() {
  const Variables variables = [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
  };
  return from(variables, getauxval(AT_SECURE) != 0, folder_of_this_library());
}

Environment Environment::from(const Variables& variables, bool privileged,
                              const fs::path& library_folder) {
  Environment result;
  result.privileged = privileged;
  result.library_folder = library_folder;
  if (!library_folder.empty())
    result.probe_program = beside_libraries(library_folder, "bin/backplane-probe");
  for (const char* folder : {"/usr/local/share", "/usr/share", "/etc"})
    result.system_plugins.push_back(fs::path(folder) / "backplane" / "plugins");
  result.system_libraries = folders_of_libraries(library_folder);
  if (privileged) return result;

  result.plugin_path = variables("BACKPLANE_PLUGIN_PATH").value_or("");
  result.trust_any_file = variables("BACKPLANE_TRUST_ANY_FILE") == "1";
  result.library_path = variables("LD_LIBRARY_PATH").value_or("");
  result.user_cache = user_folder(variables, "XDG_CACHE_HOME", ".cache");
  const fs::path data = user_folder(variables, "XDG_DATA_HOME", ".local/share");
  if (!data.empty()) {
    result.user_plugins = data / "plugins";
    result.user_certificates = data / "certificates";
  }
  const fs::path probe = variables("BACKPLANE_PROBE").value_or("");
  if (probe.is_absolute()) result.probe_program = probe;
  return result;
}

}  // namespace bp::loading
