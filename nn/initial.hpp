// How parameters of layers begin.
#pragma once

#include <cmath>

#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/operators.hpp>
#include <backplane/nn/parameter.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::nn {

// Sizes are multiplied with each other: beyond these no memory holds them, and products would leave int64.
inline constexpr std::int64_t largest_size = std::int64_t{1} << 40;
inline void check_size(const char* layer, const char* name, std::int64_t size,
                       std::int64_t most = largest_size) {
  BP_CHECK(size <= most, "{}: {} is {}; pass {} at most", layer, name, size, most);
}

// Uniform in +-bound, from the device's generator; of complex numbers both parts are.
template <class Options>
Parameter uniform_parameter(IntList shape, double bound, const Options& options) {
  const auto drawn = [&](IntList sizes, Dtype dtype) {
    return rand(sizes, dtype, options.device) * (2 * bound) - bound;
  };
  if (!is_complex(options.dtype)) return Parameter(drawn(shape, options.dtype));
  Dims parts(shape);
  parts.push_back(2);
  const Dtype real = options.dtype == Dtype::complex128 ? f64 : f32;
  return Parameter(view_as_complex(drawn(parts, real)));
}

// 1 / sqrt(fan_in), where fan_in is how many numbers go into one result.
inline double bound_of(double fan_in) {
  return fan_in > 0 ? 1 / std::sqrt(fan_in) : 0;
}

}  // namespace bp::nn
