// Whole files, read and written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bp::data {

// Throws bad_argument, which names the file and says why it can't be read, or that it is larger than `most_bytes`.
std::string read_whole_file(const std::string& path, std::uint64_t most_bytes = ~std::uint64_t{0});

// Writes beside the file and renames, so that there is the old file or the new one and never half of it. Throws bad_argument.
void write_whole_file(const std::string& path, std::string_view bytes, std::string_view more = {});

}  // namespace bp::data
