// The small JSON file that announces a plugin, so that its library need not be opened:
//   {"name": "acme", "vendor": "Acme Inc.", "description": "...", "library": "libacme.so",
//    "abi_min": 1, "abi_max": 1, "architecture": "x86_64", "sha256": "...", "offers": "bp.collective acme.x"}
// name, library, abi_min, abi_max and architecture are required. Unknown keys are ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/tensor/api.hpp>

namespace bp::loading {

inline constexpr size_t max_manifest_bytes = 1 << 16;
inline constexpr size_t max_manifest_depth = 8;

struct Manifest {
  std::string name;
  std::string vendor;
  std::string description;
  std::filesystem::path library;  // absolute; in the file perhaps relative to the manifest's folder
  uint32_t abi_min = 0;
  uint32_t abi_max = 0;
  std::string architecture;
  std::string sha256;  // lower case; empty if not given
  // Extensions for applications and for other parts of Backplane, by the names that bp_plugin.extension knows. A plugin
  // without devices is loaded when one of these is needed.
  std::vector<std::string> offers;
};

struct ManifestResult {
  Manifest manifest;    // what could be read, even if there is a problem
  std::string problem;  // one sentence that names file and key; empty if the manifest is good
};

// `path` is the file that `text` came from, for messages and relative paths. Opens no file.
BP_API ManifestResult parse_manifest(std::string_view text, const std::filesystem::path& path);

// Reads the file, at most max_manifest_bytes of it.
BP_API ManifestResult read_manifest(const std::filesystem::path& path);

// Why this process cannot use the plugin that the manifest describes (architecture, ABI range); empty if it can.
BP_API std::string find_mismatch(const Manifest& manifest, const std::filesystem::path& path);

}  // namespace bp::loading
