// What the transforms share: batches of pictures, draws, and changes that are told exactly what to do.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <backplane/data/transforms.hpp>

namespace bp::data {

// A batch [N, C, H, W] of `images`; restored() gives a result of it the rank of `images`.
class Pictures {
 public:
  Pictures(const char* transform, const Tensor& images);
  const Tensor& batch() const { return batch_; }
  std::int64_t count() const { return batch_.size(0); }
  std::int64_t channels() const { return batch_.size(1); }
  std::int64_t height() const { return batch_.size(2); }
  std::int64_t width() const { return batch_.size(3); }
  Tensor restored(const Tensor& batch) const;
  // Each picture [1, C, H, W] by itself.
  Tensor each(const std::function<Tensor(const Tensor& picture, std::int64_t index)>& change) const;

 private:
  Tensor batch_;
  bool is_single_;
};

// The largest value: 255 of uint8, 1 of floating numbers.
double bound_of(const Tensor& images);

// In `low` to `high`, without it.
std::vector<double> uniforms(Generator& generator, std::int64_t count, double low = 0,
                             double high = 1);
// From 0 up to `end`, without it.
std::int64_t draw_below(Generator& generator, std::int64_t end);

// One number a picture, [N, 1, 1, 1], where the pictures are and in their floating dtype (f32 of uint8).
Tensor per_picture(const std::vector<double>& numbers, const Tensor& batch);
Tensor in_floats(const Tensor& batch);
// Back to the dtype of `like`, rounded and clamped for uint8.
Tensor rounded_like(const Tensor& values, const Tensor& like);

std::pair<std::int64_t, std::int64_t> height_and_width(const char* transform,
                                                       const std::vector<std::int64_t>& size);
Tensor resized(const Tensor& batch, std::int64_t height, std::int64_t width,
               Interpolation interpolation, bool antialias);
Tensor padded(const char* transform, const Tensor& batch, const std::vector<std::int64_t>& padding,
              double fill, PaddingMode mode);

// Degrees, pixels and factors of one picture's map, as torchvision's affine() takes them.
struct AffineMap {
  double angle = 0, translate_x = 0, translate_y = 0, scale = 1, shear_x = 0, shear_y = 0;
  // Turned and sheared around the upper left corner, as RandAugment shears.
  bool around_corner = false;
};
Tensor mapped(const Tensor& batch, const std::vector<AffineMap>& maps, Interpolation interpolation,
              double fill);

// Factors are [N, 1, 1, 1] or a number.
Tensor blended(const Tensor& images, const Tensor& others, const Tensor& factor);
Tensor gray_of_pictures(const Tensor& batch);
Tensor with_brightness(const Tensor& batch, const Tensor& factor);
Tensor with_contrast(const Tensor& batch, const Tensor& factor);
Tensor with_saturation(const Tensor& batch, const Tensor& factor);
Tensor with_hue(const Tensor& batch, const Tensor& turns);

}  // namespace bp::data
