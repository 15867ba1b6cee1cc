// SHA-256 (FIPS 180-4), to check that a file is the expected one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include <backplane/tensor/api.hpp>

namespace bp::loading {

class BP_API Sha256 {
 public:
  void add(std::span<const std::byte> bytes);

  // Returns 64 lower-case hexadecimal digits. Nothing may be added afterwards.
  std::string finish();

 private:
  void compress(const std::byte* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> block_{};
  uint64_t num_bytes_ = 0;
};

// Returns nothing if the file cannot be read.
BP_API std::optional<std::string> sha256_of_file(const std::filesystem::path& file);

}  // namespace bp::loading
