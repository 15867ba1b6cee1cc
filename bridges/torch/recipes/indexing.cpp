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

// Our rows take the ratio of sizes for the scale; PyTorch a given one where it is given.
Tensor upsampled(const Tensor& input, IntList size, std::string_view mode, bool align_corners,
                 Scales scales) {
  std::int64_t dim = 2;
  std::size_t i = 0;
  for (const std::optional<double>& scale : scales) {
    const auto length = static_cast<double>(input.size(dim++));
    if (scale && !align_corners && length * *scale != static_cast<double>(size[i]))
      refuse("upsample", "a scale that is not the ratio of the sizes");
    ++i;
  }
  return interpolate(input, size, mode, align_corners);
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
