// Resampling and signals.
#include "images.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace bp::onnx {
namespace {

struct Target {
  std::int64_t dim, size;
  double scale, from = 0, to = 1;
};

// What becomes of each dimension.
std::vector<Target> targets_of(const Tensor& input, std::span<const double> roi,
                               std::span<const double> scales, const Axes& sizes, const Axes& axes,
                               const Resampling& how) {
  std::vector<Target> targets;
  const std::size_t count = axes ? axes->size() : static_cast<std::size_t>(input.ndim());
  const bool by_size = sizes && !sizes->empty();
  if (by_size ? sizes->size() != count : scales.size() != count)
    throw Error(ErrorClass::bad_argument,
                "sizes or scales has " + std::to_string(by_size ? sizes->size() : scales.size()) +
                    " numbers for " + std::to_string(count) + " dimensions");
  for (std::size_t i = 0; i < count; ++i) {
    Target target{wrapped(axes ? (*axes)[i] : static_cast<std::int64_t>(i), input.ndim()), 0, 1};
    if (how.coordinates == "tf_crop_and_resize" && roi.size() == 2 * count) {
      target.from = roi[i];
      target.to = roi[i + count];
    }
    const auto size = static_cast<double>(input.size(target.dim));
    if (by_size) {
      target.size = (*sizes)[i];
      target.scale = static_cast<double>(target.size) / size;
    } else {
      target.scale = scales[i];
      // In float32 as ONNX infers shapes: ten times 0.7 is 7 there, and below it in f64.
      const auto part = static_cast<float>(scales[i]) * static_cast<float>(target.to - target.from);
      target.size = static_cast<std::int64_t>(std::floor(part * static_cast<float>(size)));
    }
    targets.push_back(target);
  }
  if (!by_size || how.aspect == "stretch") return targets;
  double scale = targets[0].scale;
  for (const Target& target : targets)
    scale =
        how.aspect == "not_larger" ? std::min(scale, target.scale) : std::max(scale, target.scale);
  for (Target& target : targets) {
    target.scale = scale;
    target.size = static_cast<std::int64_t>(
        std::floor(scale * static_cast<double>(input.size(target.dim)) + 0.5));
  }
  return targets;
}

}  // namespace

namespace {

Tensor resized_to(const Tensor& input, const std::vector<Target>& targets, const Resampling& how) {
  const bool crops = how.coordinates == "tf_crop_and_resize";
  Tensor result = input;
  Dims dims, all_sizes;
  for (const Target& target : targets) {
    const std::int64_t size = input.size(target.dim);
    if (target.size == size && target.scale == 1 && !crops) continue;
    const bool is_exact =
        std::abs(target.scale * static_cast<double>(size) - static_cast<double>(target.size)) <
        1e-9 * static_cast<double>(target.size);
    if (is_exact && !crops) {
      dims.push_back(target.dim);
      all_sizes.push_back(target.size);
      continue;
    }
    result = resample(result, {target.size}, {target.dim}, how.mode, how.coordinates,
                      how.nearest_mode, how.cubic_coeff, how.exclude_outside, how.antialias,
                      target.scale, target.from, target.to, how.outside);
  }
  if (dims.empty()) return result;
  return resample(result, all_sizes, dims, how.mode, how.coordinates, how.nearest_mode,
                  how.cubic_coeff, how.exclude_outside, how.antialias, std::nullopt, 0, 1,
                  how.outside);
}

}  // namespace

// Pictures whose channels lie last stay so, as everything behind a convolution has them.
Tensor resized(const Tensor& input, std::span<const double> roi, std::span<const double> scales,
               const Axes& sizes, const Axes& axes, const Resampling& how) {
  std::vector<Target> targets = targets_of(input, roi, scales, sizes, axes, how);
  if (input.is_contiguous() || !has_channels_last(input)) return resized_to(input, targets, how);
  for (Target& target : targets)
    if (target.dim > 0) target.dim = target.dim == 1 ? 3 : target.dim - 1;
  return permute(resized_to(permute(input, {0, 2, 3, 1}), targets, how), {0, 3, 1, 2});
}

Tensor affine_places(const Tensor& theta, IntList size, bool align_corners) {
  if (size.size() == 4) return affine_grid(theta, size, align_corners);
  const TensorOptions options{.dtype = theta.dtype(), .device = theta.device()};
  const auto line = [&](std::int64_t count) {
    const Tensor places = arange(0, count, 1, options);
    if (align_corners)
      return count == 1 ? zeros({1}, options) : places * (2.0 / static_cast<double>(count - 1)) - 1;
    return (places * 2 + 1) / static_cast<double>(count) - 1;
  };
  const Tensors grids = meshgrid({line(size[2]), line(size[3]), line(size[4])});
  const Tensor points = stack({grids[2], grids[1], grids[0], ones(grids[0].shape(), options)}, -1);
  return reshape(matmul(reshape(points, {1, -1, 4}), transpose(theta, 1, 2)),
                 {size[0], size[2], size[3], size[4], 3});
}

Tensor transformed(const Tensor& input, std::optional<std::int64_t> length, std::int64_t axis,
                   bool inverse, bool onesided) {
  const std::int64_t dim = wrapped(axis, input.ndim());
  const bool is_real = input.size(-1) == 1;
  const Tensor real = select(input, -1, 0);
  if (onesided && !inverse) return view_as_real(fft_rfft(real, length, dim));
  const Tensor numbers = is_real ? view_as_complex(contiguous(stack({real, zeros_like(real)}, -1)))
                                 : view_as_complex(contiguous(input));
  if (onesided) return unsqueeze(fft_irfft(numbers, length, dim), -1);
  return view_as_real(inverse ? fft_ifft(numbers, length, dim) : fft_fft(numbers, length, dim));
}

Tensor short_transformed(const Tensor& signal, std::int64_t step, const Tensor& window,
                         std::optional<std::int64_t> length, bool onesided) {
  const std::int64_t size = length ? *length : window.defined() ? window.size(0) : 0;
  if (size <= 0) throw Error(ErrorClass::bad_argument, "STFT needs a window or a frame_length");
  const bool is_real = signal.ndim() == 2 || signal.size(-1) == 1;
  const auto frames_of = [&](const Tensor& part) {
    const Tensor frames = unfold(part, 1, size, step);
    return window.defined() ? frames * window : frames;
  };
  const Tensor real = frames_of(signal.ndim() == 2 ? signal : select(signal, 2, 0));
  if (is_real && onesided) return view_as_real(fft_rfft(real));
  const Tensor imaginary = is_real ? zeros_like(real) : frames_of(select(signal, 2, 1));
  const Tensor both =
      view_as_real(fft_fft(view_as_complex(contiguous(stack({real, imaginary}, -1)))));
  return onesided ? narrow(both, 2, 0, size / 2 + 1) : both;
}

Tensor cosine_window(std::int64_t size, Cosines of, bool periodic, Dtype dtype, Device device) {
  const TensorOptions options{.dtype = dtype == f64 ? f64 : f32, .device = device};
  const auto steps = static_cast<double>(periodic ? size : std::max<std::int64_t>(size - 1, 1));
  const Tensor turns = arange(0, size, 1, options) * (2 * std::numbers::pi / steps);
  return to(of.constant - cos(turns) * of.once + cos(turns * 2) * of.twice, dtype);
}

}  // namespace bp::onnx
