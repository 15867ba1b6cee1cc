// Pixels to draw on.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace digits {

using Color = std::array<std::uint8_t, 3>;

// White at first. What lies outside is not drawn.
class Canvas {
 public:
  Canvas(std::int64_t width, std::int64_t height);

  void rectangle(std::int64_t x, std::int64_t y, std::int64_t width, std::int64_t height,
                 Color color);
  void line(double x0, double y0, double x1, double y1, Color color);
  // One of the data set's images, its pixels as squares of `scale`: from white to `ink`.
  void image(std::int64_t x, std::int64_t y, std::int64_t scale, const float* pixels, Color ink);
  // As PNG.
  void write(const std::filesystem::path& file) const;

 private:
  std::int64_t width_, height_;
  std::vector<std::uint8_t> bytes_;  // [3, height, width]
};

}  // namespace digits
