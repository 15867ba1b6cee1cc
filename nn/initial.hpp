// How parameters of layers begin.
#pragma once

#include <cmath>

#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/operators.hpp>
#include <backplane/nn/parameter.hpp>

namespace bp::nn {

// Uniform in +-bound, from the device's generator.
template <class Options>
Parameter uniform_parameter(IntList shape, double bound, const Options& options) {
  return Parameter(rand(shape, options.dtype, options.device) * (2 * bound) - bound);
}

// 1 / sqrt(fan_in), where fan_in is how many numbers go into one result.
inline double bound_of(std::int64_t fan_in) {
  return fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0;
}

}  // namespace bp::nn
