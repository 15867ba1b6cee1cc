#include "canvas.hpp"

#include <algorithm>
#include <cmath>

#include <backplane/backplane.hpp>
#include <backplane/data/images.hpp>

#include "data_set.hpp"

namespace digits {

Canvas::Canvas(std::int64_t width, std::int64_t height)
    : width_(width), height_(height), bytes_(static_cast<std::size_t>(3 * width * height), 255) {}

void Canvas::rectangle(std::int64_t x, std::int64_t y, std::int64_t width, std::int64_t height,
                       Color color) {
  for (std::int64_t row = std::max<std::int64_t>(y, 0); row < std::min(y + height, height_); ++row)
    for (std::int64_t column = std::max<std::int64_t>(x, 0); column < std::min(x + width, width_);
         ++column)
      for (std::int64_t channel = 0; channel < 3; ++channel)
        bytes_[static_cast<std::size_t>((channel * height_ + row) * width_ + column)] =
            color[static_cast<std::size_t>(channel)];
}

void Canvas::line(double x0, double y0, double x1, double y1, Color color) {
  const double steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1.0});
  for (double i = 0; i <= steps; ++i)
    rectangle(std::lround(x0 + (x1 - x0) * i / steps), std::lround(y0 + (y1 - y0) * i / steps), 2,
              2, color);
}

void Canvas::image(std::int64_t x, std::int64_t y, std::int64_t scale, const float* pixels,
                   Color ink) {
  for (std::int64_t i = 0; i < num_pixels; ++i) {
    Color color;
    for (std::size_t channel = 0; channel < 3; ++channel)
      color[channel] = static_cast<std::uint8_t>(
          std::lround(255 - pixels[i] * (255.0F - static_cast<float>(ink[channel]))));
    rectangle(x + i % image_size * scale, y + i / image_size * scale, scale, scale, color);
  }
}

void Canvas::write(const std::filesystem::path& file) const {
  bp::data::write_png(file.string(), bp::tensor(bytes_, {3, height_, width_}, {.dtype = bp::u8}));
}

}  // namespace digits
