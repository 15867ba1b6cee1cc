// Compiled binaries on disk, shared by all processes of a user: one file for each key, written beside its
// place and renamed into it, bounded by deleting what was used longest ago. A file that is broken in any
// way is deleted and counts as missing; a disk that is full or read-only costs a line in the log.
// Threads and processes: any, for every function. None throws.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/codegen/codegen.hpp>

namespace bp::codegen::binary_cache {

// False where $BACKPLANE_CACHE_BYTES is 0: nobody need make a binary then.
bool is_on();

// A file name from all that a binary depends on: source, options, language, device and driver.
std::string key_of(std::string_view source, std::string_view options, std::string_view language,
                   std::string_view identity);

std::optional<std::vector<char>> read(const std::string& key);
void write(const std::string& key, const std::vector<char>& binary);
// The device did not take it: it goes.
void discard(const std::string& key);

CacheUsage usage();
std::uint64_t clear();

}  // namespace bp::codegen::binary_cache
