// A file that is written at once or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace bp::serialize {

// Written beside the target under a name of its own, and renamed over it by commit() when all of it is on the disk. While it is
// open it is locked, so that what a killed process left can be told from what another one is writing.
class OutputFile {
 public:
  // Throws bad_argument if the folder can't be written, or if the target is there and is not a regular file.
  explicit OutputFile(std::filesystem::path target);
  // Without commit() the target is as it was.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Throws out_of_memory if the disk is full.
  void write(const void* data, std::uint64_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  bool open_once();
  [[noreturn]] void fail(std::string_view what, int number) const;

  std::filesystem::path target_, beside_;
  int descriptor_ = -1;
  std::uint64_t written_ = 0;
};

// Removes what killed processes left of files in `folder` whose names begin so, and returns how many there were. Of what
// another process is writing it takes nothing.
int remove_abandoned(const std::filesystem::path& folder, std::string_view name_begins);

}  // namespace bp::serialize
