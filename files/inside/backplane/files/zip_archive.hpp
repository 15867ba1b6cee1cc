// A zip archive, whose members are found by name and read as a whole. Nothing of it is unpacked onto the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/files/input_file.hpp>

namespace bp::files {

// Deflate packs no tighter: so many bytes into one.
inline constexpr std::uint64_t densest_deflate = 1032;

struct ZipLimits {
  std::uint64_t most_growth = 100;               // all members, unpacked, over the archive
  std::uint64_t most_bytes = ~std::uint64_t{0};  // all members, unpacked
  std::string_view hint = "is it cut off?";      // ends the sentence about what is not an archive
};

class ZipArchive {
 public:
  // Throw bad_argument, beginning with the file's name, for what is not a zip archive, is damaged, has a member twice or
  // encrypted, or would unpack to more than the limits; unsupported without libzip.
  explicit ZipArchive(const InputFile& file, const ZipLimits& limits = {});
  // The same in memory, which stays where it is.
  ZipArchive(const void* data, std::uint64_t bytes, std::string name, const ZipLimits& limits = {});
  ~ZipArchive();
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  // In the archive's order.
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
