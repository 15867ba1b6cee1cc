#include <cmath>

#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/operators.hpp>
#include <backplane/nn/layers.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::nn {
namespace {

// Uniform in +-1 / sqrt(fan_in), where fan_in is how many numbers go into one result.
template <class Options>
Parameter initial(IntList shape, std::int64_t fan_in, const Options& options) {
  const double bound = fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0;
  return Parameter(rand(shape, options.dtype, options.device) * (2 * bound) - bound);
}

}  // namespace

Linear::Linear(std::int64_t in_features, std::int64_t out_features, const LinearOptions& options) {
  weight = initial({out_features, in_features}, in_features, options);
  if (options.bias) bias = initial({out_features}, in_features, options);
}

void Linear::list_parts(Parts& parts) {
  parts.parameter("weight", weight);
  parts.parameter("bias", bias);
}

Tensor Linear::forward(const Tensor& input) const {
  return linear(input, weight, bias);
}

Conv2d::Conv2d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size,
               const Conv2dOptions& options)
    : options_(options) {
  BP_CHECK(options.groups > 0 && in_channels % options.groups == 0,
           "Conv2d: {} input channels do not come apart into {} groups; take a divisor",
           in_channels, options.groups);
  const std::int64_t channels = in_channels / options.groups;
  const std::int64_t fan_in = channels * kernel_size * kernel_size;
  weight = initial({out_channels, channels, kernel_size, kernel_size}, fan_in, options);
  if (options.bias) bias = initial({out_channels}, fan_in, options);
}

void Conv2d::list_parts(Parts& parts) {
  parts.parameter("weight", weight);
  parts.parameter("bias", bias);
}

Tensor Conv2d::forward(const Tensor& input) const {
  return conv2d(input, weight, bias, {options_.stride}, {options_.padding}, {options_.dilation},
                options_.groups);
}

}  // namespace bp::nn
