#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <map>
#include <sys/auxv.h>

#include <backplane/loading/discovery.hpp>
#include <backplane/loading/elf_lint.hpp>

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

// A folder with more is not a folder of plugins.
constexpr size_t max_manifests = 256;

class Search {
 public:
  void add_folder(const fs::path& folder, Origin origin) {
    std::error_code error;
    std::vector<fs::path> manifests;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error))
      if (entry->path().extension() == ".json") manifests.push_back(entry->path());
    if (error) return add_problem(folder, origin, "cannot be read: " + error.message());
    std::sort(manifests.begin(), manifests.end());
    if (manifests.size() > max_manifests)
      return add_problem(folder, origin,
                         "holds " + std::to_string(manifests.size()) + " manifests; at most " +
                             std::to_string(max_manifests) + " are read from one folder");
    for (const fs::path& manifest : manifests) add_manifest(manifest, origin, folder);
  }

  // What a person named: a folder, a manifest or a library.
  void add_named(const fs::path& path, Origin origin) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) return add_problem(path, origin, "does not exist");
    if (fs::is_directory(status)) return add_folder(path, origin);
    if (path.extension() == ".json") return add_manifest(path, origin, path);
    Candidate candidate;
    candidate.library = path;
    candidate.origin = origin;
    candidate.found_in = path.string();
    add(std::move(candidate));
  }

  void add_problem(const fs::path& path, Origin origin, const std::string& what) {
    Candidate candidate;
    candidate.origin = origin;
    candidate.found_in = path.string();
    candidate.problem = path.string() + ": " + what;
    found_.push_back(std::move(candidate));
  }

  std::vector<Candidate> take() { return std::move(found_); }

 private:
  void add_manifest(const fs::path& file, Origin origin, const fs::path& found_in) {
    ManifestResult read = read_manifest(file);
    Candidate candidate;
    candidate.library = read.manifest.library;
    candidate.manifest_file = file;
    candidate.origin = origin;
    candidate.found_in = found_in.string();
    candidate.problem = std::move(read.problem);
    if (candidate.problem.empty()) candidate.problem = find_mismatch(read.manifest, file);
    candidate.manifest = std::move(read.manifest);
    add(std::move(candidate));
  }

  void add(Candidate candidate) {
    std::error_code error;
    const fs::path real = fs::canonical(candidate.library, error);
    if (error && candidate.problem.empty())
      candidate.problem = candidate.manifest_file.empty()
                              ? candidate.library.string() + ": does not exist"
                              : candidate.manifest_file.string() + ": its library " +
                                    candidate.library.string() + " does not exist";
    if (!error) candidate.library = real;
    if (candidate.problem.empty()) {
      const std::string source =
          candidate.manifest_file.empty() ? candidate.found_in : candidate.manifest_file.string();
      const auto [first, is_new] = first_source_.emplace(real, source);
      const auto [namesake, is_new_name] = source_of_name_.emplace(candidate.name(), source);
      if (!is_new)
        candidate.problem =
            source + ": " + real.string() + " was found before, by " + first->second;
      else if (!is_new_name && candidate.origin == Origin::system_library)
        candidate.problem = source + ": a plugin with the name " + candidate.name() +
                            " was found before, by " + namesake->second;
    }
    found_.push_back(std::move(candidate));
  }

  std::vector<Candidate> found_;
  std::map<fs::path, std::string> first_source_;       // by real path, of usable candidates
  std::map<std::string, std::string> source_of_name_;  // of usable candidates
};

void add_plugin_path(const std::string& elements, Search& search) {
  for (size_t begin = 0; begin <= elements.size();) {
    const size_t end = std::min(elements.find(':', begin), elements.size());
    const fs::path element = elements.substr(begin, end - begin);
    begin = end + 1;
    if (element.empty()) continue;
    if (element.is_absolute())
      search.add_named(element, Origin::plugin_path);
    else
      search.add_problem(element, Origin::plugin_path,
                         "is relative, so BACKPLANE_PLUGIN_PATH would depend on the current "
                         "directory; give an absolute path");
  }
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

std::string_view describe(Origin origin) {
  switch (origin) {
    case Origin::explicit_path: return "given";
    case Origin::plugin_path: return "BACKPLANE_PLUGIN_PATH";
    case Origin::user: return "user's folder";
    case Origin::system: return "system's folder";
    case Origin::beside_library: return "beside libbackplane";
    case Origin::system_library: return "system's libraries";
  }
  return "unknown";
}

std::string Candidate::name() const {
  if (manifest && !manifest->name.empty()) return manifest->name;
  if (!library.empty()) return library.filename().string();
  return fs::path(found_in).filename().string();
}

std::vector<Place> search_places(const Environment& environment,
                                 std::span<const fs::path> explicit_paths) {
  std::vector<Place> places;
  for (const fs::path& path : explicit_paths) places.push_back({Origin::explicit_path, path});
  if (!environment.privileged) {
    if (!environment.plugin_path.empty())
      places.push_back({Origin::plugin_path, environment.plugin_path});
    if (!environment.user_plugins.empty())
      places.push_back({Origin::user, environment.user_plugins});
  }
  for (const fs::path& folder : environment.system_plugins)
    places.push_back({Origin::system, folder});
  if (!environment.library_folder.empty())
    places.push_back({Origin::beside_library, environment.library_folder / "backplane"});
  for (const fs::path& folder : environment.system_libraries)
    places.push_back({Origin::system_library, folder / "backplane"});
  return places;
}

std::vector<Candidate> discover(const Environment& environment,
                                std::span<const fs::path> explicit_paths) {
  Search search;
  for (const Place& place : search_places(environment, explicit_paths)) {
    std::error_code error;
    const fs::path absolute = fs::absolute(place.path, error);
    if (place.origin == Origin::plugin_path)
      add_plugin_path(place.path.string(), search);
    else if (place.origin != Origin::explicit_path) {
      if (place.path.is_absolute() && fs::is_directory(place.path, error))
        search.add_folder(place.path, place.origin);
    } else if (place.path.empty() || error)
      search.add_problem(place.path, place.origin, "is not a path to a plugin");
    else
      search.add_named(absolute, place.origin);
  }
  return search.take();
}

}  // namespace bp::loading
