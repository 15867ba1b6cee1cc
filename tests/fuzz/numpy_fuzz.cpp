// Any bytes are a .npy file that has as many bytes as its shape asks for, or a sentence that begins with its name.
#include <cstdlib>
#include <string_view>

#include <backplane/tensor/error.hpp>

#include "formats/numpy_header.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  using namespace bp::data;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const NumpyHeader header = numpy_header(bytes, "fuzz.npy");
    std::uint64_t numel = 1;
    for (const std::int64_t each : header.shape) numel *= static_cast<std::uint64_t>(each);
    if (header.data_bytes != numel * bp::itemsize(header.dtype)) std::abort();
    if (header.data_begin + header.data_bytes != size) std::abort();
  } catch (const bp::Error& error) {
    if (!std::string_view(error.what()).starts_with("fuzz.npy")) std::abort();
  }
  return 0;
}
