// Transforms of images, on any device.
//
// All take [C, H, W] or a batch [N, C, H, W], uint8 (0 to 255) or floating (0 to 1), and give the same rank and dtype where they
// do not say otherwise. Random ones draw again for each picture of a batch, from the generator alone: in a dataset's get, the
// sample's own. Names, defaults and formulas are torchvision's (version 2 of its transforms);
// differences are noted. Errors: bad_argument for other shapes and dtypes, which names the
// transform.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <backplane/data/sample.hpp>

namespace bp::data {

// Threads: any number may apply one transform at once.
class BP_API Transform {
 public:
  virtual ~Transform() = default;
  virtual Tensor apply(const Tensor& images, Generator& generator) const = 0;
  // With sample_generator().
  Tensor operator()(const Tensor& images) const { return apply(images, sample_generator()); }
};
using TransformPtr = std::shared_ptr<const Transform>;

// One after the other.
class BP_API Compose : public Transform {
 public:
  explicit Compose(std::vector<TransformPtr> transforms);
  Tensor apply(const Tensor& images, Generator& generator) const override;

 private:
  std::vector<TransformPtr> transforms_;
};

// To floating numbers from 0 to 1 of `dtype`; without scale, of the same values.
class BP_API ToFloat : public Transform {
 public:
  explicit ToFloat(Dtype dtype = f32, bool scale = true);
  Tensor apply(const Tensor& images, Generator& generator) const override;

 private:
  Dtype dtype_;
  bool scale_;
};

// (x - mean) / std, by channel; of floating pictures. One number stands for all channels.
class BP_API Normalize : public Transform {
 public:
  Normalize(std::vector<double> mean, std::vector<double> std);
  Tensor apply(const Tensor& images, Generator& generator) const override;

 private:
  std::vector<double> mean_, std_;
};

enum class Interpolation : std::uint8_t { nearest, bilinear, bicubic };

// `size` is {height, width}, or {s}: the smaller edge becomes s and the other keeps the ratio. `antialias` is for what shrinks
// by bilinear or bicubic.
class BP_API Resize : public Transform {
 public:
  explicit Resize(std::vector<std::int64_t> size,
                  Interpolation interpolation = Interpolation::bilinear, bool antialias = true);
  Tensor apply(const Tensor& images, Generator& generator) const override;

 private:
  std::vector<std::int64_t> size_;
  Interpolation interpolation_;
  bool antialias_;
};

enum class PaddingMode : std::uint8_t { constant, edge, reflect };

// `padding` is {all}, {left and right, top and bottom} or {left, top, right, bottom}.
class BP_API Pad : public Transform {
 public:
  explicit Pad(std::vector<std::int64_t> padding, double fill = 0,
               PaddingMode mode = PaddingMode::constant);
  Tensor apply(const Tensor& images, Generator& generator) const override;

 private:
  std::vector<std::int64_t> padding_;
  double fill_;
  PaddingMode mode_;
};

// The center part of this `size`, {height, width} or {both}; smaller pictures get zeros around them
// first.
class BP_API CenterCrop : public Transform {
 public:
  explicit CenterCrop(std::vector<std::int64_t> size);
  Tensor apply(const Tensor& images, Generator& generator) const override;

 private:
  std::int64_t height_, width_;
};

struct RandomCropOptions {
  std::vector<std::int64_t> padding = {};  // as Pad's, before
  bool pad_if_needed = false;  // smaller pictures get as much as they lack on both sides
  double fill = 0;
  PaddingMode padding_mode = PaddingMode::constant;
};

class BP_API RandomCrop : public Transform {
 public:
  explicit RandomCrop(std::vector<std::int64_t> size, const RandomCropOptions& options = {});
  Tensor apply(const Tensor& images, Generator& generator) const override;

 private:
  std::int64_t height_, width_;
  RandomCropOptions options_;
};

struct RandomResizedCropOptions {
  std::array<double, 2> scale = {0.08, 1.0};         // the part's share of the area
  std::array<double, 2> ratio = {3.0 / 4, 4.0 / 3};  // its width over its height
  Interpolation interpolation = Interpolation::bilinear;
  bool antialias = true;
};

// A random part brought to `size` (Szegedy et al., 2014).
class BP_API RandomResizedCrop : public Transform {
 public:
  explicit RandomResizedCrop(std::vector<std::int64_t> size,
                             const RandomResizedCropOptions& options = {});
  Tensor apply(const Tensor& images, Generator& generator) const override;

 private:
  std::int64_t height_, width_;
  RandomResizedCropOptions options_;
};

class BP_API RandomHorizontalFlip : public Transform {
 public:
  explicit RandomHorizontalFlip(double p = 0.5);
  Tensor apply(const Tensor& images, Generator& generator) const override;

 private:
  double p_;
};

class BP_API RandomVerticalFlip : public Transform {
 public:
  explicit RandomVerticalFlip(double p = 0.5);
  Tensor apply(const Tensor& images, Generator& generator) const override;

 private:
  double p_;
};

// 0.2989 R + 0.587 G + 0.114 B, in 1 or 3 equal channels.
class BP_API Grayscale : public Transform {
 public:
  explicit Grayscale(std::int64_t num_output_channels = 1);
  Tensor apply(const Tensor& images, Generator& generator) const override;

 private:
  std::int64_t num_output_channels_;
};

struct ColorJitterOptions {
  // Factors are drawn from [max(0, 1 - x), 1 + x], that of the hue, in turns, from [-x, x] with x up to 0.5.
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;
};

// Factors are drawn for each picture, the order of the four steps once for the call.
class BP_API ColorJitter : public Transform {
 public:
  explicit ColorJitter(const ColorJitterOptions& options);
  Tensor apply(const Tensor& images, Generator& generator) const override;

 private:
  ColorJitterOptions options_;
};

struct RandomAffineOptions {
  std::array<double, 2> degrees = {0, 0};    // clockwise
  std::array<double, 2> translate = {0, 0};  // at most, in parts of width and height
  std::array<double, 2> scale = {1, 1};
  std::array<double, 4> shear = {0, 0, 0, 0};  // degrees along x from, to, and along y from, to
  Interpolation interpolation = Interpolation::nearest;  // or bilinear
  double fill = 0;
};

// Rotated about the center, moved, scaled and sheared; the size stays.
class BP_API RandomAffine : public Transform {
 public:
  explicit RandomAffine(const RandomAffineOptions& options);
  Tensor apply(const Tensor& images, Generator& generator) const override;

 private:
  RandomAffineOptions options_;
};

// Rotated counterclockwise by an angle from `degrees`; the size stays.
class BP_API RandomRotation : public Transform {
 public:
  explicit RandomRotation(std::array<double, 2> degrees,
                          Interpolation interpolation = Interpolation::nearest, double fill = 0);
  Tensor apply(const Tensor& images, Generator& generator) const override;

 private:
  std::array<double, 2> degrees_;
  Interpolation interpolation_;
  double fill_;
};

struct RandomErasingOptions {
  double p = 0.5;
  std::array<double, 2> scale = {0.02, 0.33};  // the part's share of the area
  std::array<double, 2> ratio = {0.3, 3.3};    // its height over its width
  double value = 0;
};

// A rectangle of one value (Zhong et al., 2017).
class BP_API RandomErasing : public Transform {
 public:
  explicit RandomErasing(const RandomErasingOptions& options = {});
  Tensor apply(const Tensor& images, Generator& generator) const override;

 private:
  RandomErasingOptions options_;
};

struct RandAugmentOptions {
  int num_ops = 2;
  int magnitude = 9;
  int num_magnitude_bins = 31;
  Interpolation interpolation = Interpolation::nearest;
  double fill = 0;
};

// `num_ops` of fourteen changes for each picture, all of one magnitude (Cubuk et al., 2019); of uint8 pictures with 1 or 3
// channels.
class BP_API RandAugment : public Transform {
 public:
  explicit RandAugment(const RandAugmentOptions& options = {});
  Tensor apply(const Tensor& images, Generator& generator) const override;

 private:
  RandAugmentOptions options_;
};

}  // namespace bp::data
