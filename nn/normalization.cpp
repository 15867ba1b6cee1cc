#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/operators.hpp>
#include <backplane/nn/normalization.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::nn {
namespace {

template <class Options>
Parameter constant_parameter(IntList shape, double value, const Options& options) {
  return Parameter(full(shape, value, options.dtype, options.device));
}

std::vector<std::int64_t> checked_shape(const char* layer, const Sizes& shape) {
  BP_CHECK(shape.is_given(), "{}: normalized_shape is empty; pass at least one size", layer);
  for (std::int64_t size : shape.list())
    BP_CHECK(size >= 0, "{}: normalized_shape is {}; pass sizes of 0 or more", layer, shape.text());
  return shape.list();
}

BatchNormOptions as_batch_norm(const InstanceNormOptions& options) {
  return {options.eps,  options.momentum, options.affine, options.track_running_stats,
          options.bias, options.dtype,    options.device};
}

}  // namespace

RunningNorm::RunningNorm(const char* layer, std::size_t spatial_rank, std::int64_t num_features,
                         const BatchNormOptions& options)
    : layer_(layer), spatial_rank_(spatial_rank), num_features_(num_features), options_(options) {
  BP_CHECK(num_features >= 0, "{}: num_features is {}; pass 0 or more", layer, num_features);
  if (options.affine) weight = constant_parameter({num_features}, 1, options);
  if (options.affine && options.bias) bias = constant_parameter({num_features}, 0, options);
  if (!options.track_running_stats) return;
  running_mean = zeros({num_features}, options.dtype, options.device);
  running_var = ones({num_features}, options.dtype, options.device);
  num_batches_tracked = zeros({}, i64, options.device);
}

void RunningNorm::list_parts(Parts& parts) {
  parts.parameter("weight", weight);
  parts.parameter("bias", bias);
  parts.buffer("running_mean", running_mean);
  parts.buffer("running_var", running_var);
  parts.buffer("num_batches_tracked", num_batches_tracked);
}

std::string RunningNorm::extra_repr() const {
  return fmt::format("{}, eps={}, momentum={}, affine={}, bias={}, track_running_stats={}",
                     num_features_, repr(options_.eps), repr(options_.momentum),
                     repr(options_.affine), repr(bias.defined()),
                     repr(options_.track_running_stats));
}

void RunningNorm::reset_running_stats() {
  if (!running_mean.defined()) return;
  const NoGrad no_grad;
  fill_(running_mean, 0);
  fill_(running_var, 1);
  fill_(num_batches_tracked, 0);
}

Tensor BatchNorm::forward(const Tensor& x) const {
  const auto rank = static_cast<std::size_t>(x.ndim());
  BP_CHECK(rank == spatial_rank() + 2 || (spatial_rank() == 1 && rank == 2),
           "{}: the input is {}; pass {} dimensions{}", layer(), to_string(x.shape()),
           spatial_rank() + 2, spatial_rank() == 1 ? ", or 2" : "");
  BP_CHECK(x.size(1) == num_features(),
           "{}: the input {} has {} channels, and the layer {}; "
           "make both the same",
           layer(), to_string(x.shape()), x.size(1), num_features());
  double momentum = options().momentum.value_or(0);
  if (is_training() && num_batches_tracked.defined()) {
    const NoGrad no_grad;
    add_(num_batches_tracked, 1);
    if (!options().momentum) momentum = 1 / item<double>(num_batches_tracked);
  }
  return batch_norm(x, weight, bias, running_mean, running_var,
                    is_training() || !running_mean.defined(), momentum, options().eps);
}

InstanceNorm::InstanceNorm(const char* layer, std::size_t spatial_rank, std::int64_t num_features,
                           const InstanceNormOptions& options)
    : RunningNorm(layer, spatial_rank, num_features, as_batch_norm(options)) {}

Tensor InstanceNorm::forward(const Tensor& x) const {
  const auto rank = static_cast<std::size_t>(x.ndim());
  BP_CHECK(rank == spatial_rank() + 1 || rank == spatial_rank() + 2,
           "{}: the input is {}; pass {} dimensions, or {} without a batch", layer(),
           to_string(x.shape()), spatial_rank() + 2, spatial_rank() + 1);
  const bool has_batch = rank == spatial_rank() + 2;
  const std::int64_t channels = x.size(has_batch ? 1 : 0);
  BP_CHECK(channels == num_features() || (!weight.defined() && !running_mean.defined()),
           "{}: the input {} has {} channels, and the layer {}; make both the same", layer(),
           to_string(x.shape()), channels, num_features());
  const Tensor result = instance_norm(has_batch ? x : unsqueeze(x, 0), weight, bias, running_mean,
                                      running_var, is_training() || !running_mean.defined(),
                                      options().momentum.value_or(0), options().eps);
  return has_batch ? result : squeeze(result, 0);
}

LayerNorm::LayerNorm(const Sizes& normalized_shape, const LayerNormOptions& options)
    : normalized_shape_(checked_shape("LayerNorm", normalized_shape)), options_(options) {
  if (options.elementwise_affine) weight = constant_parameter(normalized_shape_, 1, options);
  if (options.elementwise_affine && options.bias)
    bias = constant_parameter(normalized_shape_, 0, options);
}

void LayerNorm::list_parts(Parts& parts) {
  parts.parameter("weight", weight);
  parts.parameter("bias", bias);
}

Tensor LayerNorm::forward(const Tensor& x) const {
  return layer_norm(x, normalized_shape_, weight, bias, options_.eps);
}

std::string LayerNorm::extra_repr() const {
  return fmt::format("{}, eps={}, elementwise_affine={}, bias={}", repr(IntList(normalized_shape_)),
                     repr(options_.eps), repr(options_.elementwise_affine), repr(bias.defined()));
}

RMSNorm::RMSNorm(const Sizes& normalized_shape, const RMSNormOptions& options)
    : normalized_shape_(checked_shape("RMSNorm", normalized_shape)), options_(options) {
  if (options.elementwise_affine) weight = constant_parameter(normalized_shape_, 1, options);
}

void RMSNorm::list_parts(Parts& parts) {
  parts.parameter("weight", weight);
}

Tensor RMSNorm::forward(const Tensor& x) const {
  return rms_norm(x, normalized_shape_, weight, options_.eps);
}

std::string RMSNorm::extra_repr() const {
  return fmt::format("{}, eps={}, elementwise_affine={}", repr(IntList(normalized_shape_)),
                     repr(options_.eps), repr(options_.elementwise_affine));
}

GroupNorm::GroupNorm(std::int64_t num_groups, std::int64_t num_channels,
                     const GroupNormOptions& options)
    : num_groups_(num_groups), num_channels_(num_channels), options_(options) {
  BP_CHECK(num_groups > 0 && num_channels >= 0 && num_channels % num_groups == 0,
           "GroupNorm: {} channels are not divisible into {} groups; choose a divisor",
           num_channels, num_groups);
  if (options.affine) weight = constant_parameter({num_channels}, 1, options);
  if (options.affine && options.bias) bias = constant_parameter({num_channels}, 0, options);
}

void GroupNorm::list_parts(Parts& parts) {
  parts.parameter("weight", weight);
  parts.parameter("bias", bias);
}

Tensor GroupNorm::forward(const Tensor& x) const {
  return group_norm(x, num_groups_, weight, bias, options_.eps);
}

std::string GroupNorm::extra_repr() const {
  return fmt::format("{}, {}, eps={}, affine={}, bias={}", num_groups_, num_channels_,
                     repr(options_.eps), repr(options_.affine), repr(bias.defined()));
}

void LocalResponseNormOptions::check() const {
  BP_CHECK(size > 0, "LocalResponseNorm: size is {}; pass 1 or more", size);
}

Tensor LocalResponseNormOptions::apply(const Tensor& x) const {
  return local_response_norm(x, size, alpha, beta, k);
}

std::string LocalResponseNormOptions::text() const {
  return fmt::format("{}, alpha={}, beta={}, k={}", size, repr(alpha), repr(beta), repr(k));
}

}  // namespace bp::nn
