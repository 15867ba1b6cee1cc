// Reads from a shared library's bytes what the lint needs to know. Uses the program headers and the dynamic
// segment, as the loader does; section headers, which `strip` may remove, only help.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bp::loading {

enum class ElfProblem {
  none,
  empty,
  truncated,
  not_elf,
  other_architecture,
  not_a_library,
  malformed,
};

struct ElfSymbol {
  std::string_view name;
  bool defined = false;
  bool unique = false;  // STB_GNU_UNIQUE
};

// String views point into the bytes that were read.
struct ElfFile {
  ElfProblem problem = ElfProblem::none;
  std::string detail;  // of the problem: what was found and what was expected

  std::vector<ElfSymbol> symbols;  // the global ones that other libraries see
  bool symbols_complete = true;    // false: their number could not be determined
  std::vector<std::string_view> needed;
  std::string_view rpath, runpath;
  bool has_stack_header = false, executable_stack = false, text_relocations = false;
};

// Safe for any bytes: each offset and count is checked against the size.
ElfFile read_elf(std::span<const std::byte> bytes);

}  // namespace bp::loading
