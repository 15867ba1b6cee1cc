#include "transforms/pictures.hpp"

#include <cmath>
#include <numbers>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/forms.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/dispatcher/host_device.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::data {
namespace {

// The rows of the inverse of the map, in pixels from the middle: which place of the picture each place of the result shows.
std::array<double, 6> inverse_matrix(const AffineMap& map, double width, double height) {
  constexpr double one_degree = std::numbers::pi / 180;
  const double turn = map.angle * one_degree;
  const double sx = map.shear_x * one_degree, sy = map.shear_y * one_degree;
  // Of a turn by the angle and two shears.
  const double a = std::cos(turn - sy) / std::cos(sy);
  const double b = -std::cos(turn - sy) * std::tan(sx) / std::cos(sy) - std::sin(turn);
  const double c = std::sin(turn - sy) / std::cos(sy);
  const double d = -std::sin(turn - sy) * std::tan(sx) / std::cos(sy) + std::cos(turn);
  std::array<double, 6> m = {d / map.scale, -b / map.scale, 0, -c / map.scale, a / map.scale, 0};
  const double cx = map.around_corner ? -width / 2 : 0, cy = map.around_corner ? -height / 2 : 0;
  m[2] = m[0] * (-cx - map.translate_x) + m[1] * (-cy - map.translate_y) + cx;
  m[5] = m[3] * (-cx - map.translate_x) + m[4] * (-cy - map.translate_y) + cy;
  return m;
}

// Whole numbers lose their fraction, as torchvision's do.
Tensor clamped_like(const Tensor& values, const Tensor& like) {
  return to(clamp(values, 0, bound_of(like)), like.dtype());
}

struct HueParts {
  Tensor hue, saturation, value;
};

HueParts hue_parts(const Tensor& r, const Tensor& g, const Tensor& b) {
  const Tensor most = maximum(maximum(r, g), b), least = minimum(minimum(r, g), b);
  const Tensor is_gray = eq(most, least);
  const Tensor range = sub(most, least);
  const Tensor one = ones_like(most);
  const Tensor saturation = div(range, where(is_gray, one, most));
  const Tensor divisor = where(is_gray, one, range);
  const Tensor rc = div(sub(most, r), divisor), gc = div(sub(most, g), divisor),
               bc = div(sub(most, b), divisor);
  const Tensor is_r = eq(most, r), is_g = eq(most, g);
  const Tensor of_r = sub(bc, gc), of_g = sub(add(rc, 2), bc), of_b = sub(add(gc, 4), rc);
  const Tensor sixth = where(is_r, of_r, where(is_g, of_g, of_b));
  return {fmod(add(div(sixth, 6), 1), 1), saturation, most};
}

Tensor colors_of(const HueParts& parts) {
  const Tensor sixth = mul(parts.hue, 6);
  const Tensor whole = floor(sixth);
  const Tensor f = sub(sixth, whole);
  const Tensor &s = parts.saturation, &v = parts.value;
  const auto level = [&](const Tensor& share) {
    return clamp(mul(v, sub(1, mul(s, share))), 0, 1);
  };
  const Tensor p = level(ones_like(s)), q = level(f), t = level(sub(1, f));
  const Tensor sector = remainder(whole, 6);
  const auto of = [&](std::initializer_list<const Tensor*> by_sector) {
    Tensor result = **(by_sector.end() - 1);
    for (int i = 4; i >= 0; --i) result = where(eq(sector, i), **(by_sector.begin() + i), result);
    return result;
  };
  return cat(
      {of({&v, &q, &p, &p, &t, &v}), of({&t, &v, &v, &q, &p, &p}), of({&p, &p, &t, &v, &v, &q})},
      1);
}

}  // namespace

Pictures::Pictures(const char* transform, const Tensor& images)
    : is_single_(images.defined() && images.ndim() == 3) {
  BP_CHECK(images.defined() && (images.ndim() == 3 || images.ndim() == 4),
           "{}: takes [C, H, W] or [N, C, H, W], not {}", transform,
           images.defined() ? to_string(images.shape()) : "an undefined tensor");
  BP_CHECK(images.dtype() == u8 || is_floating(images.dtype()),
           "{}: takes uint8 or floating pictures, not {}", transform, name(images.dtype()));
  BP_CHECK(images.numel() > 0, "{}: pictures of {} have no pixels", transform,
           to_string(images.shape()));
  batch_ = is_single_ ? unsqueeze(images, 0) : images;
}

Tensor Pictures::restored(const Tensor& batch) const {
  return is_single_ ? squeeze(batch, 0) : batch;
}

Tensor Pictures::each(const std::function<Tensor(const Tensor&, std::int64_t)>& change) const {
  if (count() == 1) return change(batch_, 0);
  std::vector<Tensor> changed;
  for (std::int64_t i = 0; i < count(); ++i) changed.push_back(change(narrow(batch_, 0, i, 1), i));
  return cat(changed, 0);
}

double bound_of(const Tensor& images) {
  return images.dtype() == u8 ? 255 : 1;
}

std::vector<double> uniforms(Generator& generator, std::int64_t count, double low, double high) {
  std::vector<double> numbers = to_vector<double>(rand({count}, f64, host_device(), &generator));
  for (double& each : numbers) each = low + each * (high - low);
  return numbers;
}

std::int64_t draw_below(Generator& generator, std::int64_t end) {
  return std::min(end - 1,
                  static_cast<std::int64_t>(uniforms(generator, 1)[0] * static_cast<double>(end)));
}

Tensor per_picture(const std::vector<double>& numbers, const Tensor& batch) {
  const Dtype dtype = batch.dtype() == u8 ? f32 : batch.dtype();
  const auto count = static_cast<std::int64_t>(numbers.size());
  return to(tensor(numbers, {count, 1, 1, 1}, {.device = host_device()}), batch.device(), dtype);
}

Tensor in_floats(const Tensor& batch) {
  return batch.dtype() == u8 ? to(batch, f32) : batch;
}

Tensor rounded_like(const Tensor& values, const Tensor& like) {
  return like.dtype() == u8 ? to(clamp(round(values), 0, 255), u8) : values;
}

std::pair<std::int64_t, std::int64_t> height_and_width(const char* transform,
                                                       const std::vector<std::int64_t>& size) {
  BP_CHECK(size.size() == 1 || size.size() == 2,
           "{}: size has {} numbers; it is {{both}} or {{height, width}}", transform, size.size());
  BP_CHECK(size.front() > 0 && size.back() > 0, "{}: size is {} by {}; both must be above 0",
           transform, size.front(), size.back());
  return {size.front(), size.back()};
}

Tensor resized(const Tensor& batch, std::int64_t height, std::int64_t width,
               Interpolation interpolation, bool antialias) {
  if (height == batch.size(2) && width == batch.size(3)) return batch;
  if (interpolation == Interpolation::nearest)
    return rounded_like(interpolate(in_floats(batch), {height, width}, "nearest"), batch);
  const bool is_cubic = interpolation == Interpolation::bicubic;
  const Tensor from = in_floats(batch);
  // Filters that widen are normalized over the pixels that are there; and cubic ones are Pillow's then.
  const Tensor made = antialias
                          ? resample(from, {height, width}, {2, 3}, is_cubic ? "cubic" : "linear",
                                     "half_pixel", "round_prefer_floor", -0.5, true, true)
                          : interpolate(from, {height, width}, is_cubic ? "bicubic" : "bilinear");
  return rounded_like(made, batch);
}

Tensor padded(const char* transform, const Tensor& batch, const std::vector<std::int64_t>& padding,
              double fill, PaddingMode mode) {
  const std::vector<std::int64_t>& p = padding;
  BP_CHECK(p.size() == 1 || p.size() == 2 || p.size() == 4,
           "{}: padding has {} numbers; it is {{all}}, {{left and right, top and bottom}} or "
           "{{left, top, right, bottom}}",
           transform, p.size());
  const std::int64_t left = p[0], top = p.size() == 1 ? p[0] : p[1];
  const std::int64_t right = p.size() == 4 ? p[2] : left, bottom = p.size() == 4 ? p[3] : top;
  const char* modes[] = {"constant", "replicate", "reflect"};
  const char* name = modes[static_cast<int>(mode)];
  if (mode == PaddingMode::constant)
    return constant_pad_nd(
        batch, {left, right, top, bottom},
        batch.dtype() == u8 ? Scalar(static_cast<std::int64_t>(fill)) : Scalar(fill));
  return rounded_like(pad(in_floats(batch), {left, right, top, bottom}, name), batch);
}

Tensor mapped(const Tensor& batch, const std::vector<AffineMap>& maps, Interpolation interpolation,
              double fill) {
  const auto width = static_cast<double>(batch.size(3)),
             height = static_cast<double>(batch.size(2));
  std::vector<double> theta;
  for (const AffineMap& map : maps) {
    const std::array<double, 6> m = inverse_matrix(map, width, height);
    // From pixels to numbers from -1 to 1.
    theta.insert(theta.end(), {m[0], m[1] * height / width, m[2] * 2 / width, m[3] * width / height,
                               m[4], m[5] * 2 / height});
  }
  const Tensor from = in_floats(batch);
  const Tensor matrices =
      to(tensor(theta, {static_cast<std::int64_t>(maps.size()), 2, 3}, {.device = host_device()}),
         from.device(), from.dtype());
  const Tensor grid = affine_grid(matrices, batch.shape());
  const char* mode = interpolation == Interpolation::nearest ? "nearest" : "bilinear";
  Tensor made = grid_sample(from, grid, mode);
  if (fill != 0) {
    const Tensor share = grid_sample(
        ones({batch.size(0), 1, batch.size(2), batch.size(3)}, from.dtype(), from.device()), grid,
        mode);
    made = interpolation == Interpolation::nearest
               ? where(lt(share, 0.5), full_like(made, fill), made)
               : add(mul(made, share), mul(sub(1, share), fill));
  }
  return rounded_like(made, batch);
}

Tensor blended(const Tensor& images, const Tensor& others, const Tensor& factor) {
  return clamped_like(add(mul(in_floats(images), factor), mul(in_floats(others), sub(1, factor))),
                      images);
}

Tensor gray_of_pictures(const Tensor& batch) {
  const Tensor from = in_floats(batch);
  const auto channel = [&](std::int64_t i, double weight) {
    return mul(narrow(from, 1, i, 1), weight);
  };
  return to(add(add(channel(0, 0.2989), channel(1, 0.587)), channel(2, 0.114)), batch.dtype());
}

Tensor with_brightness(const Tensor& batch, const Tensor& factor) {
  return clamped_like(mul(in_floats(batch), factor), batch);
}

Tensor with_contrast(const Tensor& batch, const Tensor& factor) {
  const Tensor gray = batch.size(1) == 3 ? gray_of_pictures(batch) : batch;
  const Tensor middle = mean(in_floats(gray), {1, 2, 3}, true);
  return clamped_like(add(mul(in_floats(batch), factor), mul(middle, sub(1, factor))), batch);
}

Tensor with_saturation(const Tensor& batch, const Tensor& factor) {
  return batch.size(1) == 3 ? blended(batch, gray_of_pictures(batch), factor) : batch;
}

Tensor with_hue(const Tensor& batch, const Tensor& turns) {
  if (batch.size(1) != 3) return batch;
  const bool is_bytes = batch.dtype() == u8;
  const Tensor from = is_bytes ? div(to(batch, f32), 255) : batch;
  HueParts parts = hue_parts(narrow(from, 1, 0, 1), narrow(from, 1, 1, 1), narrow(from, 1, 2, 1));
  parts.hue = remainder(add(parts.hue, turns), 1);
  const Tensor made = colors_of(parts);
  return is_bytes ? to(mul(made, 255.999), u8) : made;
}

}  // namespace bp::data
