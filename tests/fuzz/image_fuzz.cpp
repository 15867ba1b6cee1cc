// Any bytes are a picture with as many bytes as its sizes ask for, or a sentence that begins with its name.
#include <cstdlib>
#include <string_view>

#include <backplane/tensor/error.hpp>

#include "formats/pixels.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  using namespace bp::data;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  ImageOptions options;
  options.mode = static_cast<ImageMode>(data[0] % 5);
  options.most_pixels = 1 << 16;
  try {
    const Pixels pixels = decode_pixels(bytes, "fuzz.png", options);
    if (pixels.channels < 1 || pixels.channels > 4) std::abort();
    if (pixels.height * pixels.width > options.most_pixels) std::abort();
    if (static_cast<std::int64_t>(pixels.bytes.size()) !=
        pixels.height * pixels.width * pixels.channels)
      std::abort();
  } catch (const bp::Error& error) {
    if (!std::string_view(error.what()).starts_with("fuzz.png: ")) std::abort();
  }
  return 0;
}
