#include <algorithm>
#include <bit>
#include <cstring>

#include <backplane/data/idx.hpp>
#include <backplane/dispatcher/host_device.hpp>
#include <backplane/files/whole_file.hpp>
#include <backplane/runtime/allocator.hpp>

#include "formats/idx_header.hpp"

namespace bp::data {

Tensor load_idx(const std::string& path, std::uint64_t most_bytes) {
  std::string bytes = files::read_whole_file(path, most_bytes);
  if (is_gzip(bytes)) bytes = unpacked_gzip(bytes, path, most_bytes);
  const IdxHeader header = idx_header(bytes, path);
  const Tensor made = empty_tensor(header.shape, header.dtype, host_device());
  if (header.data_bytes == 0) return made;
  auto* numbers = static_cast<char*>(made.data_ptr());
  std::memcpy(numbers, bytes.data() + header.data_begin, header.data_bytes);
  const std::size_t width = itemsize(header.dtype);
  if (std::endian::native == std::endian::little && width > 1)
    for (char* at = numbers; at < numbers + header.data_bytes; at += width)
      std::reverse(at, at + width);
  return made;
}

}  // namespace bp::data
