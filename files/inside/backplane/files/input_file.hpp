// A file to read: by address, or piece by piece into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace bp::files {

// Pages of a file, private to this process: what is written to them never reaches the file.
class Mapping {
 public:
  Mapping(std::byte* data, std::uint64_t bytes) : data_(data), bytes_(bytes) {}
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::byte* data() const { return data_; }

 private:
  std::byte* data_;
  std::uint64_t bytes_;
};

class InputFile {
 public:
  // Throws bad_argument for what can't be opened or is not a regular file, as a folder or a pipe, which would wait forever.
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& name() const { return name_; }
  std::uint64_t bytes() const { return bytes_; }
  int descriptor() const { return descriptor_; }

  // Throws bad_argument if the file ends earlier, since somebody cut it meanwhile.
  void read(std::uint64_t offset, void* target, std::uint64_t bytes) const;
  std::shared_ptr<Mapping> map() const;
  // Throws bad_argument if somebody wrote the file since it was opened, so that what was read may be of two files. Asked after
  // reading, and before a mapping is touched.
  void check_unchanged() const;

 private:
  std::string name_;
  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;
  timespec written_{};  // the last time before it was opened
};

// Pieces of a file and where they go.
struct Piece {
  std::uint64_t offset = 0;
  void* target = nullptr;
  std::uint64_t bytes = 0;
};
// Large ones by several threads: most of the time goes into pages that are touched for the first time.
void read_pieces(const InputFile& file, const std::vector<Piece>& pieces);

}  // namespace bp::files
