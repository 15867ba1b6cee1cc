#include <algorithm>
#include <map>

#include <backplane/loading/discovery.hpp>

namespace bp::loading {
namespace {

namespace fs = std::filesystem;

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
