#include <cstring>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/data/images.hpp>
#include <backplane/dispatcher/host_device.hpp>
#include <backplane/files/whole_file.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/tensor/check.hpp>

#include "formats/pixels.hpp"

namespace bp::data {

Tensor decode_image(std::string_view bytes, const std::string& name, const ImageOptions& options) {
  const Pixels pixels = decode_pixels(bytes, name, options);
  const Tensor rows =
      empty_tensor({pixels.height, pixels.width, pixels.channels}, u8, host_device());
  std::memcpy(rows.data_ptr(), pixels.bytes.data(), pixels.bytes.size());
  return contiguous(permute(rows, {2, 0, 1}));
}

Tensor read_image(const std::string& path, const ImageOptions& options) {
  return decode_image(files::read_whole_file(path), path, options);
}

std::string encode_png(const Tensor& image) {
  BP_CHECK(image.defined() && image.dtype() == u8 && (image.ndim() == 2 || image.ndim() == 3),
           "encode_png: needs a uint8 tensor [C, H, W] or [H, W], not {} {}",
           image.defined() ? name(image.dtype()) : "an undefined one",
           image.defined() ? to_string(image.shape()) : "");
  const Tensor channels = image.ndim() == 2 ? unsqueeze(image, 0) : image;
  BP_CHECK(channels.size(0) >= 1 && channels.size(0) <= 4 && channels.numel() > 0,
           "encode_png: the shape is {}; it needs 1 to 4 channels, and pixels",
           to_string(image.shape()));
  const Tensor rows = contiguous(permute(cpu(detach(channels)), {1, 2, 0}));
  Pixels pixels{rows.size(0), rows.size(1), rows.size(2), {}};
  const auto* bytes = rows.data<std::uint8_t>();
  pixels.bytes.assign(bytes, bytes + rows.numel());
  return encode_png_pixels(pixels);
}

void write_png(const std::string& path, const Tensor& image) {
  files::write_whole_file(path, encode_png(image));
}

}  // namespace bp::data
