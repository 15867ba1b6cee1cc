// Finds the libraries that a plugin needs, where the dynamic loader would, without loading them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "elf_file.hpp"

namespace bp::loading {

// The names of `file`'s direct dependencies that are found nowhere. Bounded in time; an answer to warn
// by, since the loader itself has the last word. `library_path` is LD_LIBRARY_PATH.
std::vector<std::string> find_missing(const ElfFile& elf, const std::filesystem::path& file,
                                      std::string_view library_path);

// The names in an ld.so.cache, sorted; empty if the bytes are none.
std::vector<std::string_view> read_loader_cache(std::string_view bytes);

}  // namespace bp::loading
