// Writes zip archives.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace bp::files {

// A member to write: its bytes are two pieces, which the caller keeps until it is written.
struct ZipMember {
  std::string name;
  std::string_view head, body;
};

// The same members make the same bytes. Replaces the file as OutputFile does, and throws as it does; bad_argument, which names
// the file and the member, for a name that occurs twice or is not UTF-8; unsupported without libzip.
void write_zip(const std::filesystem::path& path, const std::vector<ZipMember>& members,
               bool compressed);

}  // namespace bp::files
