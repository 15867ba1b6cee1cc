// The files in a zip file, unpacked one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bp::data {

// Throws bad_argument, which names the file, for one that is no zip file, whose entries are encrypted or damaged (checksums
// are compared), or that unpacks to more than `most_bytes`; unsupported without libzip.
void for_each_zip_entry(const std::string& path, std::uint64_t most_bytes,
                        const std::function<void(std::string name, std::string_view bytes)>& visit);

// An entry to write: its bytes are two pieces, which are kept by the caller until it is written.
struct ZipEntry {
  std::string name;
  std::string_view head, body;
};

// There is the old file or the new one and never half of it. Throws bad_argument, which names the file; unsupported without
// libzip.
void write_zip_entries(const std::string& path, const std::vector<ZipEntry>& entries,
                       bool compressed);

}  // namespace bp::data
