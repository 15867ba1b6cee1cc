// alone: the assembler reads the module's bytes by a name that the build gives
#include "modules.hpp"

// Into the read-only data of the library, aligned as words.
asm(".pushsection .rodata\n"
    ".balign 4\n"
    "bp_level_zero_matmul:\n"
    ".incbin \"" BP_LEVEL_ZERO_MODULE
    "\"\n"
    "bp_level_zero_matmul_end:\n"
    ".popsection\n");

extern "C" __attribute__((visibility("hidden"))) const char bp_level_zero_matmul[],
    bp_level_zero_matmul_end[];

namespace level_zero {

std::string_view matmul_module() {
  return {bp_level_zero_matmul,
          static_cast<std::size_t>(bp_level_zero_matmul_end - bp_level_zero_matmul)};
}

}  // namespace level_zero
