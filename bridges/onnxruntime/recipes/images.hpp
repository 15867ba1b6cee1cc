// Resampling and signals.
#pragma once

#include "helpers.hpp"

namespace bp::onnx {

struct Resampling {
  std::string_view mode, coordinates, nearest_mode, aspect;
  double cubic_coeff, outside;
  bool exclude_outside, antialias;
};
Tensor resized(const Tensor& input, std::span<const double> roi, std::span<const double> scales,
               const Axes& sizes, const Axes& axes, const Resampling& how);
Tensor affine_places(const Tensor& theta, IntList size, bool align_corners);

// Complex numbers are pairs in the last dimension, real ones single there.
Tensor transformed(const Tensor& input, std::optional<std::int64_t> length, std::int64_t axis,
                   bool inverse, bool onesided);
Tensor short_transformed(const Tensor& signal, std::int64_t step, const Tensor& window,
                         std::optional<std::int64_t> length, bool onesided);
struct Cosines {
  double constant, once, twice;
};
Tensor cosine_window(std::int64_t size, Cosines of, bool periodic, Dtype dtype, Device device);

}  // namespace bp::onnx
