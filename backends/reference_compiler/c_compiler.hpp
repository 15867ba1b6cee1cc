// The machine's C compiler as a program: $BACKPLANE_CC, else `cc`.
#pragma once

#include <string>
#include <vector>

#include <backplane/extensions/compiler.h>
#include <backplane/plugin.hpp>

namespace reference {

// Its first line of `--version`, or that there is none; and the machine it compiles for.
std::string compiler_identity();

// The bytes of a shared object. BP_UNSUPPORTED if there is no compiler; else its log.
bp::Result<std::vector<char>> compile_c(const bp_source& source);

// A folder of this process alone, deleted with all that is in it. Throws bp::Failure.
class PrivateFolder {
 public:
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

void write_file(const std::string& path, const void* bytes, uint64_t size);

}  // namespace reference
