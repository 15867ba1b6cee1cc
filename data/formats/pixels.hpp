// Decoding of pictures, without a tensor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/data/images.hpp>

namespace bp::data {

// Row by row, the channels of a pixel beside each other.
struct Pixels {
  std::int64_t height = 0, width = 0, channels = 0;
  std::vector<std::uint8_t> bytes;
};

// Throws bad_argument for no pixels, and for more than may be. To be asked before memory is.
void check_image_size(std::int64_t width, std::int64_t height, const std::string& name,
                      const ImageOptions& options);

// Of the file's own channels, but for CMYK.
Pixels decode_png(std::string_view bytes, const std::string& name, const ImageOptions& options);
Pixels decode_jpeg(std::string_view bytes, const std::string& name, const ImageOptions& options);
Pixels decode_webp(std::string_view bytes, const std::string& name, const ImageOptions& options);

// By the first bytes, in the options' mode.
Pixels decode_pixels(std::string_view bytes, const std::string& name, const ImageOptions& options);

std::string encode_png_pixels(const Pixels& pixels);

[[noreturn]] void throw_without_library(const std::string& name, const char* format,
                                        const char* library, const char* package);

}  // namespace bp::data
