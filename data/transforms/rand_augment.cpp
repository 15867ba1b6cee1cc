#include <cmath>
#include <numbers>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/tensor/check.hpp>

#include "transforms/pictures.hpp"

namespace bp::data {
namespace {

enum class Change : std::uint8_t {
  identity,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  brightness,
  color,
  contrast,
  sharpness,
  posterize,
  solarize,
  auto_contrast,
  equalize
};
constexpr int num_changes = 14;

bool has_sign(Change change) {
  return change >= Change::shear_x && change <= Change::sharpness;
}

// Of one bin out of `bins`, as the paper's table has it.
double magnitude_of(Change change, double share, int bin, int bins, const Tensor& picture) {
  switch (change) {
    case Change::shear_x:
    case Change::shear_y: return 0.3 * share;
    case Change::translate_x: return 150.0 / 331 * static_cast<double>(picture.size(3)) * share;
    case Change::translate_y: return 150.0 / 331 * static_cast<double>(picture.size(2)) * share;
    case Change::rotate: return 30 * share;
    case Change::brightness:
    case Change::color:
    case Change::contrast:
    case Change::sharpness: return 0.9 * share;
    case Change::posterize: return 8 - std::nearbyint(bin / ((bins - 1) / 4.0));
    case Change::solarize: return 255 * (1 - share);
    default: return 0;
  }
}

// The edge stays, everything else takes a little of its neighbours.
Tensor smoothed(const Tensor& picture) {
  const std::int64_t height = picture.size(2), width = picture.size(3);
  const Tensor from = in_floats(picture);
  const auto shifted = [&](std::int64_t dy, std::int64_t dx) {
    return narrow(narrow(from, 2, dy, height - 2), 3, dx, width - 2);
  };
  Tensor total = mul(shifted(1, 1), 4);
  for (std::int64_t dy = 0; dy < 3; ++dy)
    for (std::int64_t dx = 0; dx < 3; ++dx) total = add(total, shifted(dy, dx));
  const Tensor inner = rounded_like(div(total, 13), picture);
  const Tensor row = cat({narrow(narrow(picture, 2, 1, height - 2), 3, 0, 1), inner,
                          narrow(narrow(picture, 2, 1, height - 2), 3, width - 1, 1)},
                         3);
  return cat({narrow(picture, 2, 0, 1), row, narrow(picture, 2, height - 1, 1)}, 2);
}

Tensor stretched(const Tensor& picture) {
  const Tensor from = in_floats(picture);
  const Tensor least = min(from, {2, 3}, true), most = max(from, {2, 3}, true);
  const Tensor is_flat = eq(least, most);
  const Tensor scale = div(full_like(most, 255), where(is_flat, ones_like(most), sub(most, least)));
  const Tensor made = to(clamp(mul(sub(from, least), scale), 0, 255), u8);
  return where(is_flat, picture, made);
}

// Each channel's values spread so that all are about as frequent.
Tensor equalized(const Tensor& picture) {
  std::vector<Tensor> channels;
  for (std::int64_t i = 0; i < picture.size(1); ++i) {
    const Tensor channel = narrow(picture, 1, i, 1);
    const Tensor values = to(flatten(channel), i64);
    const Tensor counts = bincount(values, {}, 256);
    const Tensor of_largest = index_select(counts, 0, view(max(values), {1}));
    const Tensor step = floor_divide(sub(values.numel(), of_largest), 255);
    const Tensor can = gt(step, 0);
    const Tensor divisor = where(can, step, ones_like(step));
    const Tensor upto = floor_divide(add(cumsum(counts, 0), floor_divide(divisor, 2)), divisor);
    const Tensor table = clamp(narrow(constant_pad_nd(upto, {1, 0}), 0, 0, 256), 0, 255);
    const Tensor looked_up = to(view(index_select(table, 0, values), channel.shape()), u8);
    channels.push_back(where(can, looked_up, channel));
  }
  return cat(channels, 1);
}

Tensor changed(const Tensor& picture, Change change, double magnitude,
               const RandAugmentOptions& options) {
  const auto map = [&](const AffineMap& how) {
    return mapped(picture, {how}, options.interpolation, options.fill);
  };
  const auto factor = [&] { return per_picture({1 + magnitude}, picture); };
  const double degrees = std::atan(magnitude) * 180 / std::numbers::pi;
  switch (change) {
    case Change::identity: break;
    case Change::shear_x: return map({.shear_x = degrees, .around_corner = true});
    case Change::shear_y: return map({.shear_y = degrees, .around_corner = true});
    case Change::translate_x: return map({.translate_x = std::trunc(magnitude)});
    case Change::translate_y: return map({.translate_y = std::trunc(magnitude)});
    case Change::rotate: return map({.angle = -magnitude});
    case Change::brightness: return with_brightness(picture, factor());
    case Change::color: return with_saturation(picture, factor());
    case Change::contrast: return with_contrast(picture, factor());
    case Change::sharpness:
      if (picture.size(2) < 3 || picture.size(3) < 3) break;
      return blended(picture, smoothed(picture), factor());
    case Change::posterize: {
      const int kept = static_cast<int>(magnitude);
      const double step = std::exp2(8 - kept);
      return to(mul(floor(div(in_floats(picture), step)), step), u8);
    }
    case Change::solarize: {
      const Tensor from = in_floats(picture);
      return to(where(ge(from, magnitude), sub(255, from), from), u8);
    }
    case Change::auto_contrast: return stretched(picture);
    case Change::equalize: return equalized(picture);
  }
  return picture;
}

}  // namespace

RandAugment::RandAugment(const RandAugmentOptions& options) : options_(options) {
  BP_CHECK(options.num_ops >= 0, "RandAugment: num_ops is {}; it must be at least 0",
           options.num_ops);
  BP_CHECK(options.num_magnitude_bins > 1 && options.magnitude >= 0 &&
               options.magnitude < options.num_magnitude_bins,
           "RandAugment: magnitude is {} and there are {} bins; it must be from 0 to one less",
           options.magnitude, options.num_magnitude_bins);
  BP_CHECK(options.interpolation != Interpolation::bicubic,
           "RandAugment: interpolation must be nearest or bilinear");
}

Tensor RandAugment::apply(const Tensor& images, Generator& generator) const {
  const Pictures pictures("RandAugment", images);
  BP_CHECK(images.dtype() == u8 && (pictures.channels() == 1 || pictures.channels() == 3),
           "RandAugment: takes uint8 pictures of 1 or 3 channels, not {} of {}",
           name(images.dtype()), pictures.channels());
  const double share = static_cast<double>(options_.magnitude) / (options_.num_magnitude_bins - 1);
  return pictures.restored(pictures.each([&](const Tensor& picture, std::int64_t) {
    Tensor result = picture;
    for (int i = 0; i < options_.num_ops; ++i) {
      const auto change = static_cast<Change>(draw_below(generator, num_changes));
      const bool is_negative = draw_below(generator, 2) == 1;
      double magnitude =
          magnitude_of(change, share, options_.magnitude, options_.num_magnitude_bins, result);
      if (has_sign(change) && is_negative) magnitude = -magnitude;
      result = changed(result, change, magnitude, options_);
    }
    return result;
  }));
}

}  // namespace bp::data
