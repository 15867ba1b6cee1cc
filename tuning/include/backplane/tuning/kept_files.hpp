// What one process found and later ones need, on disk: compiled kernels, and what the tuner decided. One file for each key, written beside its
// place and renamed into it, bounded by deleting what was used longest ago. A file that is broken in any
// way is deleted and counts as missing; a disk that is full or read-only costs a line in the log.
// Threads and processes: any, for every function. None throws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/tensor/api.hpp>

namespace bp::kept_files {

// False if $BACKPLANE_CACHE_BYTES is 0: then nobody needs to make a binary.
BP_API bool is_on();

// A file name from all that the content depends on; of a binary: source, options, language, device and driver.
BP_API std::string key_of(std::string_view source, std::string_view options,
                          std::string_view language, std::string_view identity);

BP_API std::optional<std::vector<char>> read(const std::string& key);
BP_API void write(const std::string& key, const std::vector<char>& content);
// Deletes one that the device did not accept.
BP_API void discard(const std::string& key);

// All whose content begins so. Reads every file's beginning.
BP_API std::vector<std::string> contents_with_head(std::string_view head);

// Where they are: $BACKPLANE_CACHE_DIR, else $XDG_CACHE_HOME/backplane/kernels, else ~/.cache/backplane/kernels.
struct Usage {
  std::string folder;
  std::uint64_t num_files = 0, bytes = 0, limit_bytes = 0;
};
BP_API Usage usage();
// Deletes all of them, or those whose content begins so; returns how many.
BP_API std::uint64_t clear(std::string_view head = {});

}  // namespace bp::kept_files
