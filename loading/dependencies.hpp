// Finds the libraries that a plugin needs where the dynamic loader would find them, without loading them: the part of the
// lint (elf_lint.cpp) that looks beyond the file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "elf_file.hpp"

namespace bp::loading {

// The names of `file`'s direct dependencies that cannot be found. Takes bounded time. Only good for a warning,
// since the loader itself decides. `library_path` is LD_LIBRARY_PATH.
std::vector<std::string> find_missing(const ElfFile& elf, const std::filesystem::path& file,
                                      std::string_view library_path);

// The names in an ld.so.cache, sorted; empty if the bytes are not such a cache.
std::vector<std::string_view> read_loader_cache(std::string_view bytes);

}  // namespace bp::loading
