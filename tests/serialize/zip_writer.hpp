// Zip archives by hand, honest and not.
#pragma once

#include "serialize/files.hpp"

namespace bp::test {

struct Member {
  std::string name;
  std::string bytes;             // as they lie in the archive
  int method = 0;                // 0 stored, 8 deflated
  std::string unpacked = bytes;  // what size and checksum are of
  std::uint64_t claimed_bytes = unpacked.size();
  int flags = 0;
  bool is_zip64 = false;  // sizes of 8 bytes, as in archives beyond 4 GB
};

inline std::uint32_t crc32(const std::string& bytes) {
  std::uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
  }
  return ~crc;
}

// Local headers with the members, then the directory of all.
inline std::string zip_of(const std::vector<Member>& members) {
  std::string archive, directory;
  for (const Member& each : members) {
    const std::string extra = each.is_zip64 ? little_endian(1, 2) + little_endian(16, 2) +
                                                  little_endian(each.claimed_bytes, 8) +
                                                  little_endian(each.bytes.size(), 8)
                                            : "";
    const auto size = [&](std::uint64_t bytes) {
      return little_endian(each.is_zip64 ? 0xffffffff : bytes, 4);
    };
    const std::string facts = little_endian(each.flags, 2) + little_endian(each.method, 2) +
                              little_endian(0x21 << 16, 4) +
                              little_endian(crc32(each.unpacked), 4) + size(each.bytes.size()) +
                              size(each.claimed_bytes) + little_endian(each.name.size(), 2) +
                              little_endian(extra.size(), 2);
    directory += "PK\1\2" + little_endian(20, 2) + little_endian(20, 2) + facts +
                 std::string(10, '\0') + little_endian(archive.size(), 4) + each.name + extra;
    archive += "PK\3\4" + little_endian(20, 2) + facts + each.name + extra + each.bytes;
  }
  const std::uint64_t begin = archive.size(), count = members.size();
  return archive + directory + "PK\5\6" + std::string(4, '\0') + little_endian(count, 2) +
         little_endian(count, 2) + little_endian(directory.size(), 4) + little_endian(begin, 4) +
         std::string(2, '\0');
}

// A deflated member of one block that is stored within the stream.
inline Member deflated(const std::string& name, const std::string& bytes) {
  const std::string stream =
      "\1" + little_endian(bytes.size(), 2) + little_endian(~bytes.size() & 0xffff, 2) + bytes;
  return {name, stream, 8, bytes};
}

}  // namespace bp::test
