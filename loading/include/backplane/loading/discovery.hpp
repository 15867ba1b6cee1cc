// Finds plugins. Reads folders and manifests; opens no library.
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

enum class Origin { explicit_path, plugin_path, user, system, beside_library, system_library };

// "given", "BACKPLANE_PLUGIN_PATH", "user's folder", "system's folder", "beside libbackplane", "system's libraries".
BP_API std::string_view describe(Origin origin);

struct Candidate {
  std::filesystem::path library;  // links resolved if it exists; empty if not even a path is known
  std::optional<Manifest> manifest;
  std::filesystem::path manifest_file;  // empty if the library itself was named
  Origin origin = Origin::explicit_path;
  std::string found_in;  // the folder or list element that led here
  std::string problem;   // one sentence; empty if no problem is known so far

  bool usable() const { return problem.empty(); }

  // The manifest's name, or else the name of the file.
  BP_API std::string name() const;
};

struct Place {
  Origin origin;
  std::filesystem::path path;  // for Origin::plugin_path, the whole list
};

// Where `discover` looks, in order, whether the place exists or not: `explicit_paths` (libraries, manifests
// or folders of manifests), BACKPLANE_PLUGIN_PATH, the user's folder, the system's folders, the folder beside
// libbackplane, and those beside the system's libraries. A privileged process only looks at places that the system alone can write to.
BP_API std::vector<Place> search_places(const Environment& environment,
                                        std::span<const std::filesystem::path> explicit_paths = {});

// All candidates in these places, in the order in which to try them. A library that is found again is listed
// again, with a problem that says where it was found first; so is a plugin beside the system's libraries whose name was
// found before, since it belongs to another installation of Backplane. The current directory only matters for relative
// `explicit_paths`.
BP_API std::vector<Candidate> discover(const Environment& environment,
                                       std::span<const std::filesystem::path> explicit_paths = {});

}  // namespace bp::loading
