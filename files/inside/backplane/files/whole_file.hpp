// Files that are read and written whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace bp::files {

// All bytes up to the file's end, whatever its size is said to be: pipes and files of /proc are read like others. Throws
// bad_argument, which names the file, for one that is missing, is a folder or a device, has more than `most_bytes`, or was written
// meanwhile; out_of_memory for one that does not fit.
std::string read_whole_file(const std::filesystem::path& path,
                            std::uint64_t most_bytes = ~std::uint64_t{0});

// Both pieces, one behind the other. Replaces the file as OutputFile does, and throws as it does.
void write_whole_file(const std::filesystem::path& path, std::string_view bytes,
                      std::string_view more = {});

}  // namespace bp::files
