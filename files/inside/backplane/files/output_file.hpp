// A file that is written at once or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace bp::files {

// Written beside the target under a name of its own, and renamed over it by commit() when all of it is on the disk. While it is
// open it is locked, so that what a killed process left can be told from what another one is writing.
//
// A new file has the mode that umask leaves; one that takes an earlier one's place has its mode and, where the system allows, its
// owner and group. A link stays a link, and the file that it names is written, as open() would do.
class OutputFile {
 public:
  // Throws bad_argument if the folder can't be written, or if the target is there and is write-protected or not a regular
  // file.
  explicit OutputFile(std::filesystem::path target);
  // Without commit() the target is as it was.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Throws out_of_memory if the disk is full.
  void write(const void* data, std::uint64_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  // The next write goes there, as formats need whose beginning tells what follows.
  void seek(std::uint64_t offset);
  void commit();

 private:
  bool open_once();
  [[noreturn]] void fail(std::string_view what, int number) const;

  std::filesystem::path target_, beside_;
  int descriptor_ = -1;
  std::uint64_t written_ = 0;
};

// Makes a folder, and those above it, that are on the disk when this returns. Throws bad_argument if it can't.
void make_folder(const std::filesystem::path& folder);

// Removes what killed processes left of files in `folder` whose names begin so, and returns how many there were. Of what
// another process is writing it takes nothing.
int remove_abandoned(const std::filesystem::path& folder, std::string_view name_begins);

}  // namespace bp::files
