// Where plugins come from. Reads folders and manifests; opens no library.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/loading/environment.hpp>
#include <backplane/loading/manifest.hpp>
#include <backplane/tensor/api.hpp>

namespace bp::loading {

enum class Origin { explicit_path, plugin_path, user, system, beside_library };

// "given", "BACKPLANE_PLUGIN_PATH", "user's folder", "system's folder", "beside libbackplane".
BP_API std::string_view describe(Origin origin);

struct Candidate {
  std::filesystem::path library;  // links resolved if it exists; empty if not even a path is known
  std::optional<Manifest> manifest;
  std::filesystem::path manifest_file;  // empty: the library was named itself
  Origin origin = Origin::explicit_path;
  std::string found_in;  // the folder or list element that led here
  std::string problem;   // one sentence; empty: nothing is known against it so far

  bool usable() const { return problem.empty(); }

  // The manifest's name, else that of the file.
  BP_API std::string name() const;
};

struct Place {
  Origin origin;
  std::filesystem::path path;  // for Origin::plugin_path the whole list
};

// Where `discover` looks, in its order, whether it exists or not: `explicit_paths` (libraries,
// manifests or folders of manifests), BACKPLANE_PLUGIN_PATH, the user's and the system's folders, the
// folder beside libbackplane. A privileged process looks at what the system alone can write.
BP_API std::vector<Place> search_places(const Environment& environment,
                                        std::span<const std::filesystem::path> explicit_paths = {});

// All candidates of these places, in the order in which they are to be tried. A library that is found
// again is listed again, with a problem that says where it came first. The current directory is looked
// at only for relative `explicit_paths`.
BP_API std::vector<Candidate> discover(const Environment& environment,
                                       std::span<const std::filesystem::path> explicit_paths = {});

}  // namespace bp::loading
