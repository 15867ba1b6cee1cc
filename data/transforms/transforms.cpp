#include <algorithm>
#include <cmath>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/tensor/check.hpp>

#include "transforms/pictures.hpp"

namespace bp::data {
namespace {

void check_range(const char* transform, const char* what, const std::array<double, 2>& range,
                 double least) {
  BP_CHECK(range[0] <= range[1] && range[0] >= least && std::isfinite(range[1]),
           "{}: {} goes from {} to {}; it must rise, from {} on", transform, what, range[0],
           range[1], least);
}

void check_probability(const char* transform, double p) {
  BP_CHECK(p >= 0 && p <= 1, "{}: p is {}; it must be from 0 to 1", transform, p);
}

Tensor flipped(const char* transform, const Tensor& images, double p, std::int64_t dim,
               Generator& generator) {
  const Pictures pictures(transform, images);
  const std::vector<double> draws = uniforms(generator, pictures.count());
  const auto num_flipped =
      std::count_if(draws.begin(), draws.end(), [&](double draw) { return draw < p; });
  if (num_flipped == 0) return images;
  const Tensor turned = flip(pictures.batch(), {dim});
  if (num_flipped == pictures.count()) return pictures.restored(turned);
  const Tensor chosen = lt(per_picture(draws, pictures.batch()), p);
  return pictures.restored(where(chosen, turned, pictures.batch()));
}

}  // namespace

Compose::Compose(std::vector<TransformPtr> transforms) : transforms_(std::move(transforms)) {
  for (std::size_t i = 0; i < transforms_.size(); ++i)
    BP_CHECK(transforms_[i], "Compose: transform {} is null", i);
}

Tensor Compose::apply(const Tensor& images, Generator& generator) const {
  Tensor changed = images;
  for (const TransformPtr& each : transforms_) changed = each->apply(changed, generator);
  return changed;
}

ToFloat::ToFloat(Dtype dtype, bool scale) : dtype_(dtype), scale_(scale) {
  BP_CHECK(is_floating(dtype), "ToFloat: {} is not a floating dtype", name(dtype));
}

Tensor ToFloat::apply(const Tensor& images, Generator&) const {
  const Pictures pictures("ToFloat", images);
  const Tensor floats = to(images, dtype_);
  return scale_ && images.dtype() == u8 ? div(floats, 255) : floats;
}

Normalize::Normalize(std::vector<double> mean, std::vector<double> std)
    : mean_(std::move(mean)), std_(std::move(std)) {
  BP_CHECK(!mean_.empty() && mean_.size() == std_.size(),
           "Normalize: mean has {} numbers and std {}; pass one for each channel, or one for all",
           mean_.size(), std_.size());
  for (const double each : std_)
    BP_CHECK(each > 0, "Normalize: std is {}; it must be above 0", each);
}

Tensor Normalize::apply(const Tensor& images, Generator&) const {
  const Pictures pictures("Normalize", images);
  BP_CHECK(is_floating(images.dtype()),
           "Normalize: takes floating pictures, not uint8; use ToFloat first");
  const auto count = static_cast<std::int64_t>(mean_.size());
  BP_CHECK(count == 1 || count == pictures.channels(),
           "Normalize: mean and std have {} channels, and the pictures have {}", count,
           pictures.channels());
  const auto by_channel = [&](const std::vector<double>& numbers) {
    return to(tensor(numbers, {count, 1, 1}), images.device(), images.dtype());
  };
  return div(sub(images, by_channel(mean_)), by_channel(std_));
}

Resize::Resize(std::vector<std::int64_t> size, Interpolation interpolation, bool antialias)
    : size_(std::move(size)), interpolation_(interpolation), antialias_(antialias) {
  height_and_width("Resize", size_);
}

Tensor Resize::apply(const Tensor& images, Generator&) const {
  const Pictures pictures("Resize", images);
  std::int64_t height = size_.front(), width = size_.back();
  if (size_.size() == 1) {
    const bool is_high = pictures.height() > pictures.width();
    const std::int64_t longer = size_[0] * std::max(pictures.height(), pictures.width()) /
                                std::min(pictures.height(), pictures.width());
    (is_high ? height : width) = longer;
  }
  return pictures.restored(resized(pictures.batch(), height, width, interpolation_, antialias_));
}

Pad::Pad(std::vector<std::int64_t> padding, double fill, PaddingMode mode)
    : padding_(std::move(padding)), fill_(fill), mode_(mode) {}

Tensor Pad::apply(const Tensor& images, Generator&) const {
  const Pictures pictures("Pad", images);
  return pictures.restored(padded("Pad", pictures.batch(), padding_, fill_, mode_));
}

CenterCrop::CenterCrop(std::vector<std::int64_t> size) {
  std::tie(height_, width_) = height_and_width("CenterCrop", size);
}

Tensor CenterCrop::apply(const Tensor& images, Generator&) const {
  const Pictures pictures("CenterCrop", images);
  Tensor batch = pictures.batch();
  const std::int64_t more_x = std::max<std::int64_t>(0, width_ - pictures.width());
  const std::int64_t more_y = std::max<std::int64_t>(0, height_ - pictures.height());
  if (more_x > 0 || more_y > 0)
    batch =
        padded("CenterCrop", batch, {more_x / 2, more_y / 2, (more_x + 1) / 2, (more_y + 1) / 2}, 0,
               PaddingMode::constant);
  // Halves go to the even number, as Python rounds.
  const auto middle = [](std::int64_t spare) {
    return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(spare) / 2));
  };
  const Tensor rows = narrow(batch, 2, middle(batch.size(2) - height_), height_);
  return pictures.restored(narrow(rows, 3, middle(batch.size(3) - width_), width_));
}

RandomCrop::RandomCrop(std::vector<std::int64_t> size, const RandomCropOptions& options)
    : options_(options) {
  std::tie(height_, width_) = height_and_width("RandomCrop", size);
}

Tensor RandomCrop::apply(const Tensor& images, Generator& generator) const {
  const Pictures given("RandomCrop", images);
  Tensor batch = given.batch();
  if (!options_.padding.empty())
    batch = padded("RandomCrop", batch, options_.padding, options_.fill, options_.padding_mode);
  const std::int64_t lack_x = std::max<std::int64_t>(0, width_ - batch.size(3));
  const std::int64_t lack_y = std::max<std::int64_t>(0, height_ - batch.size(2));
  if (options_.pad_if_needed && (lack_x > 0 || lack_y > 0))
    batch = padded("RandomCrop", batch, {lack_x, lack_y}, options_.fill, options_.padding_mode);
  BP_CHECK(height_ <= batch.size(2) && width_ <= batch.size(3),
           "RandomCrop: {} by {} is larger than the pictures of {} by {}; set padding or "
           "pad_if_needed",
           height_, width_, batch.size(2), batch.size(3));
  const Pictures pictures("RandomCrop", batch);
  return given.restored(pictures.each([&](const Tensor& picture, std::int64_t) {
    const std::int64_t top = draw_below(generator, batch.size(2) - height_ + 1);
    const std::int64_t left = draw_below(generator, batch.size(3) - width_ + 1);
    return narrow(narrow(picture, 2, top, height_), 3, left, width_);
  }));
}

RandomResizedCrop::RandomResizedCrop(std::vector<std::int64_t> size,
                                     const RandomResizedCropOptions& options)
    : options_(options) {
  std::tie(height_, width_) = height_and_width("RandomResizedCrop", size);
  check_range("RandomResizedCrop", "scale", options.scale, 0);
  check_range("RandomResizedCrop", "ratio", options.ratio, 1e-6);
}

Tensor RandomResizedCrop::apply(const Tensor& images, Generator& generator) const {
  const Pictures pictures("RandomResizedCrop", images);
  const auto h = static_cast<double>(pictures.height()), w = static_cast<double>(pictures.width());
  const double log_from = std::log(options_.ratio[0]), log_to = std::log(options_.ratio[1]);
  return pictures.restored(pictures.each([&](const Tensor& picture, std::int64_t) {
    std::int64_t height = 0, width = 0, top = 0, left = 0;
    for (int trial = 0; trial < 10 && height == 0; ++trial) {
      const std::vector<double> u = uniforms(generator, 2);
      const double area =
          h * w * (options_.scale[0] + u[0] * (options_.scale[1] - options_.scale[0]));
      const double ratio = std::exp(log_from + u[1] * (log_to - log_from));
      const double wide = std::nearbyint(std::sqrt(area * ratio));
      const double high = std::nearbyint(std::sqrt(area / ratio));
      if (wide < 1 || high < 1 || wide > w || high > h) continue;
      height = static_cast<std::int64_t>(high);
      width = static_cast<std::int64_t>(wide);
      top = draw_below(generator, pictures.height() - height + 1);
      left = draw_below(generator, pictures.width() - width + 1);
    }
    if (height == 0) {  // the middle, with a ratio that is allowed
      const double ratio = std::clamp(w / h, options_.ratio[0], options_.ratio[1]);
      width = std::clamp<std::int64_t>(std::llrint(h * ratio), 1, pictures.width());
      height = std::clamp<std::int64_t>(std::llrint(w / ratio), 1, pictures.height());
      top = (pictures.height() - height) / 2;
      left = (pictures.width() - width) / 2;
    }
    const Tensor part = narrow(narrow(picture, 2, top, height), 3, left, width);
    return resized(part, height_, width_, options_.interpolation, options_.antialias);
  }));
}

RandomHorizontalFlip::RandomHorizontalFlip(double p) : p_(p) {
  check_probability("RandomHorizontalFlip", p);
}
Tensor RandomHorizontalFlip::apply(const Tensor& images, Generator& generator) const {
  return flipped("RandomHorizontalFlip", images, p_, 3, generator);
}

RandomVerticalFlip::RandomVerticalFlip(double p) : p_(p) {
  check_probability("RandomVerticalFlip", p);
}
Tensor RandomVerticalFlip::apply(const Tensor& images, Generator& generator) const {
  return flipped("RandomVerticalFlip", images, p_, 2, generator);
}

Grayscale::Grayscale(std::int64_t num_output_channels) : num_output_channels_(num_output_channels) {
  BP_CHECK(num_output_channels == 1 || num_output_channels == 3,
           "Grayscale: num_output_channels is {}; it must be 1 or 3", num_output_channels);
}

Tensor Grayscale::apply(const Tensor& images, Generator&) const {
  const Pictures pictures("Grayscale", images);
  BP_CHECK(pictures.channels() == 1 || pictures.channels() == 3,
           "Grayscale: the pictures have {} channels; it takes 1 or 3", pictures.channels());
  const Tensor gray =
      pictures.channels() == 3 ? gray_of_pictures(pictures.batch()) : pictures.batch();
  return pictures.restored(num_output_channels_ == 1 ? gray : cat({gray, gray, gray}, 1));
}

ColorJitter::ColorJitter(const ColorJitterOptions& options) : options_(options) {
  BP_CHECK(options.brightness >= 0 && options.contrast >= 0 && options.saturation >= 0,
           "ColorJitter: brightness {}, contrast {} and saturation {} must be at least 0",
           options.brightness, options.contrast, options.saturation);
  BP_CHECK(options.hue >= 0 && options.hue <= 0.5,
           "ColorJitter: hue is {}; it must be from 0 to 0.5", options.hue);
}

Tensor ColorJitter::apply(const Tensor& images, Generator& generator) const {
  const Pictures pictures("ColorJitter", images);
  BP_CHECK(pictures.channels() == 1 || pictures.channels() == 3,
           "ColorJitter: the pictures have {} channels; it takes 1 or 3", pictures.channels());
  int order[] = {0, 1, 2, 3};
  for (std::int64_t i = 3; i > 0; --i) std::swap(order[i], order[draw_below(generator, i + 1)]);
  Tensor batch = pictures.batch();
  const auto factor = [&](double x) {
    return per_picture(uniforms(generator, pictures.count(), std::max(0.0, 1 - x), 1 + x), batch);
  };
  for (const int what : order) {
    if (what == 0 && options_.brightness > 0)
      batch = with_brightness(batch, factor(options_.brightness));
    if (what == 1 && options_.contrast > 0) batch = with_contrast(batch, factor(options_.contrast));
    if (what == 2 && options_.saturation > 0)
      batch = with_saturation(batch, factor(options_.saturation));
    if (what == 3 && options_.hue > 0)
      batch = with_hue(
          batch,
          per_picture(uniforms(generator, pictures.count(), -options_.hue, options_.hue), batch));
  }
  return pictures.restored(batch);
}

RandomAffine::RandomAffine(const RandomAffineOptions& options) : options_(options) {
  check_range("RandomAffine", "degrees", options.degrees, -1e6);
  check_range("RandomAffine", "scale", options.scale, 1e-6);
  for (const double each : options.translate)
    BP_CHECK(each >= 0 && each <= 1, "RandomAffine: translate has {}; it must be from 0 to 1",
             each);
  for (const double each : options.shear)
    BP_CHECK(std::abs(each) < 90,
             "RandomAffine: shear has {} degrees; it must be between -90 and 90", each);
  BP_CHECK(options.interpolation != Interpolation::bicubic,
           "RandomAffine: interpolation must be nearest or bilinear");
}

Tensor RandomAffine::apply(const Tensor& images, Generator& generator) const {
  const Pictures pictures("RandomAffine", images);
  std::vector<AffineMap> maps;
  for (std::int64_t i = 0; i < pictures.count(); ++i) {
    const std::vector<double> u = uniforms(generator, 6);
    const auto between = [&](int draw, double from, double to) {
      return from + u[static_cast<std::size_t>(draw)] * (to - from);
    };
    const double most_x = options_.translate[0] * static_cast<double>(pictures.width());
    const double most_y = options_.translate[1] * static_cast<double>(pictures.height());
    AffineMap map;
    map.angle = between(0, options_.degrees[0], options_.degrees[1]);
    map.translate_x = std::nearbyint(between(1, -most_x, most_x));
    map.translate_y = std::nearbyint(between(2, -most_y, most_y));
    map.scale = between(3, options_.scale[0], options_.scale[1]);
    map.shear_x = between(4, options_.shear[0], options_.shear[1]);
    map.shear_y = between(5, options_.shear[2], options_.shear[3]);
    maps.push_back(map);
  }
  return pictures.restored(mapped(pictures.batch(), maps, options_.interpolation, options_.fill));
}

RandomRotation::RandomRotation(std::array<double, 2> degrees, Interpolation interpolation,
                               double fill)
    : degrees_(degrees), interpolation_(interpolation), fill_(fill) {
  check_range("RandomRotation", "degrees", degrees, -1e6);
  BP_CHECK(interpolation != Interpolation::bicubic,
           "RandomRotation: interpolation must be nearest or bilinear");
}

Tensor RandomRotation::apply(const Tensor& images, Generator& generator) const {
  const Pictures pictures("RandomRotation", images);
  std::vector<AffineMap> maps;
  for (const double angle : uniforms(generator, pictures.count(), degrees_[0], degrees_[1]))
    maps.push_back({.angle = -angle});
  return pictures.restored(mapped(pictures.batch(), maps, interpolation_, fill_));
}

RandomErasing::RandomErasing(const RandomErasingOptions& options) : options_(options) {
  check_probability("RandomErasing", options.p);
  check_range("RandomErasing", "scale", options.scale, 0);
  check_range("RandomErasing", "ratio", options.ratio, 1e-6);
}

Tensor RandomErasing::apply(const Tensor& images, Generator& generator) const {
  const Pictures pictures("RandomErasing", images);
  const std::int64_t height = pictures.height(), width = pictures.width();
  const double area = static_cast<double>(height * width);
  const double log_from = std::log(options_.ratio[0]), log_to = std::log(options_.ratio[1]);
  std::vector<double> top, bottom, left, right;
  for (std::int64_t i = 0; i < pictures.count(); ++i) {
    std::int64_t h = 0, w = 0, y = 0, x = 0;
    const bool is_chosen = uniforms(generator, 1)[0] < options_.p;
    for (int trial = 0; is_chosen && trial < 10 && h == 0; ++trial) {
      const std::vector<double> u = uniforms(generator, 2);
      const double erased =
          area * (options_.scale[0] + u[0] * (options_.scale[1] - options_.scale[0]));
      const double ratio = std::exp(log_from + u[1] * (log_to - log_from));
      const std::int64_t high = std::llrint(std::sqrt(erased * ratio));
      const std::int64_t wide = std::llrint(std::sqrt(erased / ratio));
      if (high < 1 || wide < 1 || high >= height || wide >= width) continue;
      h = high;
      w = wide;
      y = draw_below(generator, height - h + 1);
      x = draw_below(generator, width - w + 1);
    }
    top.push_back(static_cast<double>(y));
    bottom.push_back(static_cast<double>(y + h));
    left.push_back(static_cast<double>(x));
    right.push_back(static_cast<double>(x + w));
  }
  const Tensor& batch = pictures.batch();
  const auto inside = [&](std::int64_t size, IntList shape, const std::vector<double>& from,
                          const std::vector<double>& to_end) {
    const Tensor at = view(arange(0, size, 1, f32, batch.device()), shape);
    const auto bound = [&](const std::vector<double>& numbers) {
      return to(per_picture(numbers, batch), f32);
    };
    return logical_and(ge(at, bound(from)), lt(at, bound(to_end)));
  };
  const Tensor erased = logical_and(inside(height, {1, 1, height, 1}, top, bottom),
                                    inside(width, {1, 1, 1, width}, left, right));
  return pictures.restored(masked_fill(batch, erased,
                                       batch.dtype() == u8
                                           ? Scalar(static_cast<std::int64_t>(options_.value))
                                           : Scalar(options_.value)));
}

}  // namespace bp::data
