#include "formats/pixels.hpp"

#include <backplane/tensor/check.hpp>

namespace bp::data {
namespace {

std::uint8_t gray_of(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000u) >>
                                   16);
}

// As many channels as `mode` has; 0: those of the file.
std::int64_t channels_of(ImageMode mode) {
  return static_cast<std::int64_t>(mode);
}

Pixels with_channels(const Pixels& from, std::int64_t channels) {
  if (channels == 0 || channels == from.channels) return from;
  Pixels result{from.height, from.width, channels, {}};
  const std::size_t count = static_cast<std::size_t>(from.height * from.width);
  result.bytes.resize(count * static_cast<std::size_t>(channels));
  const std::uint8_t* in = from.bytes.data();
  std::uint8_t* out = result.bytes.data();
  const bool had_color = from.channels >= 3, had_alpha = from.channels % 2 == 0;
  const bool wants_color = channels >= 3, wants_alpha = channels % 2 == 0;
  for (std::size_t i = 0; i < count; ++i, in += from.channels, out += channels) {
    if (wants_color)
      for (int channel = 0; channel < 3; ++channel) out[channel] = in[had_color ? channel : 0];
    else
      out[0] = had_color ? gray_of(in) : in[0];
    if (wants_alpha) out[channels - 1] = had_alpha ? in[from.channels - 1] : 255;
  }
  return result;
}

}  // namespace

void check_image_size(std::int64_t width, std::int64_t height, const std::string& name,
                      const ImageOptions& options) {
  BP_CHECK(width > 0 && height > 0, "{}: has no pixels: {} by {}", name, width, height);
  BP_CHECK(width <= options.most_pixels / height,
           "{}: has {} by {} pixels, and at most {} are decoded; raise most_pixels", name, width,
           height, options.most_pixels);
}

void throw_without_library(const std::string& name, const char* format, const char* library,
                           const char* package) {
  throw_error(ErrorClass::unsupported,
              fmt::format("{}: is a {}, and this Backplane was built without {} (apt install {})",
                          name, format, library, package));
}

Pixels decode_pixels(std::string_view bytes, const std::string& name, const ImageOptions& options) {
  const std::int64_t channels = channels_of(options.mode);
  if (bytes.starts_with("\x89PNG"))
    return with_channels(decode_png(bytes, name, options), channels);
  if (bytes.starts_with("\xff\xd8"))
    return with_channels(decode_jpeg(bytes, name, options), channels);
  if (bytes.starts_with("RIFF") && bytes.size() >= 12 && bytes.substr(8, 4) == "WEBP")
    return with_channels(decode_webp(bytes, name, options), channels);
  throw_error(ErrorClass::bad_argument,
              fmt::format("{}: its first bytes are not those of a PNG, JPEG or WebP", name));
}

}  // namespace bp::data
