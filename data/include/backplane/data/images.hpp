// Pictures as tensors: PNG, JPEG and WebP through Debian's libraries, each of which a build may lack.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <backplane/tensor/tensor.hpp>

namespace bp::data {

// Which channels come out: those of the file (gray 1, gray with alpha 2, RGB 3, RGB with alpha 4), or these. Gray is
// (19595 R + 38470 G + 7471 B) / 65536 (ITU-R BT.601); alpha is 255 where the file has none, and is dropped if not
// requested.
enum class ImageMode : std::uint8_t { unchanged, gray, gray_alpha, rgb, rgb_alpha };

struct ImageOptions {
  ImageMode mode = ImageMode::unchanged;
  std::int64_t most_pixels = 178956970;  // as many as Pillow accepts without a warning
};

// uint8 [C, H, W]. The format is seen by the first bytes. Of 16 bits, the upper 8 are kept; palettes become colors, CMYK becomes
// RGB; EXIF rotation is not applied. Throws bad_argument, which names the file, for one that is damaged, cut short, too
// large or of none of these formats; unsupported for a format that this was built without.
BP_API Tensor read_image(const std::string& path, const ImageOptions& options = {});
// The same for a file's bytes; `name` replaces the file's name in errors.
BP_API Tensor decode_image(std::string_view bytes, const std::string& name,
                           const ImageOptions& options = {});

// A uint8 tensor [C, H, W] with 1 to 4 channels, or [H, W], from any device. An existing file is replaced completely, or
// not at all, and its mode and links stay. Throws bad_argument for other tensors, and where the file can't be written;
// out_of_memory for a full disk; unsupported without libpng.
BP_API void write_png(const std::string& path, const Tensor& image);
BP_API std::string encode_png(const Tensor& image);

}  // namespace bp::data
