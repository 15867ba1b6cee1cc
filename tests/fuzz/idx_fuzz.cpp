// Any bytes are an idx file, packed or not, that has as many bytes as its shape asks for, or a sentence that begins with its name.
#include <cstdlib>
#include <string_view>

#include <backplane/tensor/error.hpp>

#include "formats/idx_header.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  using namespace bp::data;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  try {
    if (is_gzip(bytes)) bytes = unpacked_gzip(bytes, "fuzz.idx", 1 << 20);
    if (bytes.size() > 1 << 20) std::abort();
    const IdxHeader header = idx_header(bytes, "fuzz.idx");
    std::uint64_t numel = 1;
    for (const std::int64_t each : header.shape) numel *= static_cast<std::uint64_t>(each);
    if (header.data_bytes != numel * bp::itemsize(header.dtype)) std::abort();
    if (header.data_begin + header.data_bytes != bytes.size()) std::abort();
  } catch (const bp::Error& error) {
    if (!std::string_view(error.what()).starts_with("fuzz.idx")) std::abort();
  }
  return 0;
}
