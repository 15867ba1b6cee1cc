// A zip archive, whose members are found by name and read as a whole. Nothing of it is unpacked onto the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/files/input_file.hpp>

namespace bp::files {

class ZipArchive {
 public:
  // Throw bad_argument, beginning with the file's name, for what is not a zip archive, is damaged, has a member twice or
  // encrypted, or would unpack to more than a hundred times its size; unsupported without libzip.
  explicit ZipArchive(const InputFile& file);
  // The same in memory, which stays where it is.
  ZipArchive(const void* data, std::uint64_t bytes, std::string name);
  ~ZipArchive();
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  std::vector<std::string> names() const;
  bool contains(const std::string& name) const;
  // Unpacked.
  std::uint64_t bytes_of(const std::string& name) const;
  // All bytes_of of them into `target`; throws if they are damaged.
  void read(const std::string& name, void* target) const;

 private:
  struct Opened;
  std::unique_ptr<Opened> opened_;
};

}  // namespace bp::files
