// Derivatives of looking up, padding and resampling.
#include "recipes/helpers.hpp"

namespace bp::bridge {

Tensor embedding_gradient(const Tensor& grad, const Tensor& indices, std::int64_t num_weights,
                          std::int64_t padding_idx, bool by_frequency) {
  const Tensor places = flatten(cast(indices, i64));
  const std::int64_t width = grad.size(-1);
  Tensor rows = reshape(grad, {places.numel(), width});
  if (padding_idx >= 0) rows = where(unsqueeze(places == padding_idx, 1), 0, rows);
  if (by_frequency) {
    const Tensor counts = bincount(places, {}, num_weights);
    rows = rows / unsqueeze(cast(index_select(counts, 0, places), rows.dtype()), 1);
  }
  return index_add(zeros({num_weights, width}, grad.dtype(), grad.device()), 0, places, rows);
}

Tensor pad_gradient(const Tensor& grad, const Tensor& input, IntList padding,
                    std::string_view mode) {
  return pulled_back(grad, input, [&](const Tensor& x) { return pad(x, padding, mode); });
}

namespace {

// How `resample` names what PyTorch does.
struct Resampling {
  std::string_view mode, coordinates, nearest_mode = "floor";
  double cubic_coeff = -0.75;
  bool antialias = false;
};

// Dimension by dimension: each has a scale of its own, which PyTorch takes in place of the ratio of sizes where it is given.
Tensor resampled(const Tensor& input, IntList size, Scales scales, const Resampling& how) {
  Tensor result = input;
  std::int64_t dim = 2;
  for (const std::optional<double>& scale : scales) {
    const std::int64_t to = size[static_cast<std::size_t>(dim - 2)];
    result = resample(result, {to}, {dim}, how.mode, how.coordinates, how.nearest_mode,
                      how.cubic_coeff, how.antialias, how.antialias, scale);
    ++dim;
  }
  return result;
}

}  // namespace

// The row takes the ratio of sizes for the scale.
Tensor upsampled(const Tensor& input, IntList size, std::string_view mode, bool align_corners,
                 Scales scales) {
  std::int64_t dim = 2;
  bool by_ratio = true;
  std::size_t i = 0;
  for (const std::optional<double>& scale : scales) {
    const auto length = static_cast<double>(input.size(dim++));
    by_ratio &= !scale || align_corners || length * *scale == static_cast<double>(size[i]);
    ++i;
  }
  if (by_ratio) return interpolate(input, size, mode, align_corners);
  if (mode == "nearest")
    return resampled(input, size, scales, {.mode = "nearest", .coordinates = "asymmetric"});
  if (mode == "nearest-exact")
    return resampled(
        input, size, scales,
        {.mode = "nearest", .coordinates = "half_pixel", .nearest_mode = "round_prefer_ceil"});
  return resampled(input, size, scales,
                   {.mode = mode == "bicubic" ? "cubic" : "linear", .coordinates = "half_pixel"});
}

Tensor resized_smoothly(const Tensor& input, IntList size, std::string_view mode,
                        bool align_corners, Scales scales) {
  if (align_corners) refuse("upsample", "antialias with align_corners");
  return resampled(
      input, size, scales,
      {.mode = mode, .coordinates = "half_pixel", .cubic_coeff = -0.5, .antialias = true});
}

Tensor smooth_gradient(const Tensor& grad, IntList size, IntList input_size, std::string_view mode,
                       bool align_corners, Scales scales) {
  return pulled_back(grad, zeros(input_size, grad.dtype(), grad.device()), [&](const Tensor& x) {
    return resized_smoothly(x, size, mode, align_corners, scales);
  });
}

Tensor upsample_gradient(const Tensor& grad, IntList size, IntList input_size,
                         std::string_view mode, bool align_corners, Scales scales) {
  const Tensor at = zeros(input_size, grad.dtype(), grad.device());
  return pulled_back(
      grad, at, [&](const Tensor& x) { return upsampled(x, size, mode, align_corners, scales); });
}

Pair grid_gradients(const Tensor& grad, const Tensor& input, const Tensor& grid, std::int64_t mode,
                    std::int64_t padding, bool align_corners) {
  const Tensor values = detach(input), places = detach(grid);
  set_requires_grad(values);
  set_requires_grad(places);
  const Tensor result =
      grid_sample(values, places, sample_mode(mode), sample_padding(padding), align_corners);
  std::vector<Tensor> found =
      autograd::grad({result}, {values, places}, {grad}, {}, /*allow_unused=*/true);
  if (!found[1].defined()) found[1] = zeros(grid.shape(), grid.dtype(), grid.device());
  return {found[0], found[1]};
}

}  // namespace bp::bridge
