// The header of a safetensors file: read without trust, and composed. It knows no tensor and no file, so that it can be
// fuzzed alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/serialize/safetensors.hpp>

namespace bp::serialize {

inline constexpr std::uint64_t most_header_bytes = 100'000'000;  // the format's own limit
inline constexpr std::uint64_t length_bytes = 8;                 // of the header's length before it

struct HeaderEntry {
  std::string name;
  TensorInfo info;
  std::uint64_t begin = 0, end = 0;  // in the bytes behind the header
};

struct SafetensorsHeader {
  std::vector<HeaderEntry> entries;  // as they lie in the file, without gaps
  Metadata metadata;
};

// `json` is what lies behind the length, `data_bytes` how many bytes follow it. Throws bad_argument, beginning with `file`.
SafetensorsHeader parse_header(std::string_view json, std::uint64_t data_bytes,
                               const std::string& file);

// The header's length from the first 8 bytes; throws unless so much is there.
std::uint64_t parse_length(const unsigned char* first_bytes, std::uint64_t file_bytes,
                           const std::string& file);

// Length and JSON, padded so that the values begin at a multiple of 64 bytes. The entries lie one after the other; their
// places are derived here.
std::string compose_header(std::vector<HeaderEntry>& entries, const Metadata& metadata,
                           const std::string& file);

// Throws unsupported naming what the format lacks.
std::string_view format_name(Dtype dtype, std::string_view tensor, const std::string& file);

}  // namespace bp::serialize
