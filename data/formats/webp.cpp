#include <backplane/tensor/check.hpp>

#include "formats/pixels.hpp"

#ifdef BP_DATA_WEBP
#  include <webp/decode.h>
#endif

namespace bp::data {

#ifdef BP_DATA_WEBP
Pixels decode_webp(std::string_view bytes, const std::string& name, const ImageOptions& options) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  WebPBitstreamFeatures facts;
  BP_CHECK(WebPGetFeatures(data, bytes.size(), &facts) == VP8_STATUS_OK,
           "{}: can't be decoded as a WebP: its header is damaged or cut short", name);
  BP_CHECK(!facts.has_animation, "{}: is an animated WebP; only single pictures are decoded", name);
  check_image_size(facts.width, facts.height, name, options);
  Pixels pixels{facts.height, facts.width, facts.has_alpha ? 4 : 3, {}};
  const auto stride = static_cast<std::size_t>(pixels.width * pixels.channels);
  pixels.bytes.resize(stride * static_cast<std::size_t>(pixels.height));
  const auto decode = facts.has_alpha ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  BP_CHECK(decode(data, bytes.size(), pixels.bytes.data(), pixels.bytes.size(),
                  static_cast<int>(stride)) != nullptr,
           "{}: can't be decoded as a WebP: it is damaged or cut short", name);
  return pixels;
}
#else
Pixels decode_webp(std::string_view, const std::string& name, const ImageOptions&) {
  throw_without_library(name, "WebP", "libwebp", "libwebp-dev");
}
#endif

}  // namespace bp::data
