// How normalizations are made of sums and elementwise arithmetic. Statistics of 16-bit floats, and what is
// computed with them, are float32.
#include "decompositions/norm.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/operators.hpp>
#include <backplane/dispatcher/level.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/tensor/check.hpp>

#include "rules/decompositions.hpp"

namespace bp {
namespace {

Dims normalized_dims(const Tensor& input, IntList normalized_shape) {
  Dims dims;
  for (auto dim = input.ndim() - static_cast<std::int64_t>(normalized_shape.size());
       dim < input.ndim(); ++dim)
    dims.push_back(dim);
  return dims;
}

// [channels], seen so that it broadcasts over [n, channels, ...].
Tensor by_channel(const Tensor& input, std::int64_t rank) {
  Dims shape(static_cast<std::uint32_t>(rank), 1);
  shape[1] = input.numel();
  return reshape(input, shape);
}
Dims all_but_channels(std::int64_t rank) {
  Dims dims;
  for (std::int64_t dim = 0; dim < rank; ++dim)
    if (dim != 1) dims.push_back(dim);
  return dims;
}

Tensor scaled_and_shifted(Tensor input, const Tensor& weight, const Tensor& bias) {
  if (weight.defined()) input = mul(input, widened(weight));
  if (bias.defined()) input = add(input, widened(bias));
  return input;
}
Tensor scaled_and_shifted_by_channel(const Tensor& input, const Tensor& weight,
                                     const Tensor& bias) {
  return scaled_and_shifted(input, weight.defined() ? by_channel(weight, input.ndim()) : weight,
                            bias.defined() ? by_channel(bias, input.ndim()) : bias);
}

// Kernels of rows take those that lie one behind the other, and a copy costs less than the parts do.
bool lie_in_rows(std::initializer_list<Tensor> all) {
  return std::all_of(all.begin(), all.end(),
                     [](const Tensor& each) { return !each.defined() || each.is_contiguous(); });
}
Tensor in_rows(const Tensor& input) {
  return input.defined() ? contiguous(input) : input;
}

// a before weight and bias.
Tensor normalized(const Tensor& input, const Tensor& mean, const Tensor& rstd) {
  const Tensor wide = widened(input);
  return mul(mean.defined() ? sub(wide, mean) : wide, rstd);
}

Tensor sum_of_rows(const Tensor& input, IntList normalized_shape) {
  Dims rows;
  for (std::int64_t dim = 0;
       dim < input.ndim() - static_cast<std::int64_t>(normalized_shape.size()); ++dim)
    rows.push_back(dim);
  // Without dimensions, sum would take all.
  return rows.empty() ? input : sum(input, rows);
}

void check_channels(const char* op, const Tensor& input) {
  BP_CHECK(input.ndim() >= 2, "{}: shape {} has no channels; give [n, channels, ...]", op,
           to_string(input.shape()));
}
void check_per_channel(const char* op, const char* what, const Tensor& values,
                       const Tensor& input) {
  BP_CHECK(!values.defined() || (values.ndim() == 1 && values.numel() == input.shape()[1]),
           "{}: {} has shape {}, and input has {} channels; give a vector with one number for each",
           op, what, to_string(values.shape()), input.shape()[1]);
}

// Levels see what is done to running statistics, since these may be tensors of theirs.
constexpr std::uint64_t past_derivatives =
    ~0ull << static_cast<unsigned>(Layer::autograd) & ~leveled_layers;

// The running statistics take over a part of a batch's own: as memory, past every derivative.
void take_over(const Tensor& running, const Tensor& latest, double momentum) {
  if (!running.defined() || running.device() == meta_device) return;  // no memory to write
  const Tensor own = mul(widened(running), 1 - momentum);
  copy_into(running, in_dtype(add(own, mul(widened(latest), momentum)), running.dtype()));
}
void take_over(const Tensor& running_mean, const Tensor& running_var, const Tensor& mean,
               const Tensor& variance, std::int64_t count, double momentum) {
  const ExcludeLayers excluded(past_derivatives);
  take_over(running_mean, mean, momentum);
  const double unbiased = static_cast<double>(count) / static_cast<double>(count - 1);
  take_over(running_var, mul(variance, unbiased), momentum);
}

Tensor normalized_by_running(const char* op, const Tensor& input, const Tensor& weight,
                             const Tensor& bias, const Tensor& running_mean,
                             const Tensor& running_var, double eps) {
  BP_CHECK(running_mean.defined() && running_var.defined(),
           "{}: in evaluation there must be running_mean and running_var; give both", op);
  const Tensor scale = rsqrt(add(widened(running_var), eps));
  const Tensor factor = weight.defined() ? mul(scale, widened(weight)) : scale;
  const Tensor lowered = neg(mul(widened(running_mean), factor));
  const Tensor shift = bias.defined() ? add(lowered, widened(bias)) : lowered;
  const Tensor scaled = mul(widened(input), by_channel(factor, input.ndim()));
  return in_dtype(add(scaled, by_channel(shift, input.ndim())), input.dtype());
}

}  // namespace

double smallest_step(const Tensor& input) {
  return input.dtype() == f64 ? std::numeric_limits<double>::epsilon()
                              : std::numeric_limits<float>::epsilon();
}

NativeLayerNormResult layer_norm_by_moments(const Tensor& input, IntList normalized_shape,
                                            const Tensor& weight, const Tensor& bias, double eps) {
  if (!lie_in_rows({input, weight, bias}))
    return native_layer_norm(in_rows(input), normalized_shape, in_rows(weight), in_rows(bias), eps);
  const Dims dims = normalized_dims(input, normalized_shape);
  const Tensor wide = widened(input);
  const Tensor center = mean(wide, dims, true);
  const Tensor rstd = rsqrt(add(mean(square(sub(wide, center)), dims, true), eps));
  const Tensor result = scaled_and_shifted(normalized(wide, center, rstd), weight, bias);
  return {in_dtype(result, input.dtype()), center, rstd};
}

NativeRmsNormResult rms_norm_by_moments(const Tensor& input, IntList normalized_shape,
                                        const Tensor& weight, double eps) {
  if (!lie_in_rows({input, weight}))
    return native_rms_norm(in_rows(input), normalized_shape, in_rows(weight), eps);
  const Dims dims = normalized_dims(input, normalized_shape);
  const Tensor wide = widened(input);
  const Tensor rstd = rsqrt(add(mean(square(wide), dims, true), eps));
  return {in_dtype(scaled_and_shifted(mul(wide, rstd), weight, {}), input.dtype()), rstd};
}

Tensor norm_backward_by_means(const Tensor& grad, const Tensor& input, IntList normalized_shape,
                              const Tensor& center, const Tensor& rstd, const Tensor& weight) {
  if (!lie_in_rows({grad, input, center, rstd, weight}))
    return norm_backward(in_rows(grad), in_rows(input), normalized_shape, in_rows(center),
                         in_rows(rstd), in_rows(weight));
  const Dims dims = normalized_dims(input, normalized_shape);
  const Tensor flat = normalized(input, center, rstd);
  const Tensor inner = scaled_and_shifted(widened(grad), weight, {});
  Tensor rest = sub(inner, mul(flat, mean(mul(inner, flat), dims, true)));
  if (center.defined()) rest = sub(rest, mean(inner, dims, true));
  return in_dtype(mul(rest, rstd), input.dtype());
}

Tensor norm_weight_backward_by_sum(const Tensor& grad, const Tensor& input,
                                   IntList normalized_shape, const Tensor& center,
                                   const Tensor& rstd) {
  if (!lie_in_rows({grad, input, center, rstd}))
    return norm_weight_backward(in_rows(grad), in_rows(input), normalized_shape, in_rows(center),
                                in_rows(rstd));
  const Tensor products = mul(widened(grad), normalized(input, center, rstd));
  return in_dtype(sum_of_rows(products, normalized_shape), input.dtype());
}

NormGradientsResult norm_gradients_one_by_one(const Tensor& grad, const Tensor& input,
                                              IntList normalized_shape, const Tensor& center,
                                              const Tensor& rstd, const Tensor& weight) {
  if (!lie_in_rows({grad, input, center, rstd, weight}))
    return norm_gradients(in_rows(grad), in_rows(input), normalized_shape, in_rows(center),
                          in_rows(rstd), in_rows(weight));
  Tensor by_bias = center.defined() ? sum_of_rows(grad, normalized_shape)
                                    : empty({0}, input.dtype(), input.device());
  return {norm_backward(grad, input, normalized_shape, center, rstd, weight),
          norm_weight_backward(grad, input, normalized_shape, center, rstd), std::move(by_bias)};
}

Tensor group_norm_by_rows(const Tensor& input, std::int64_t num_groups, const Tensor& weight,
                          const Tensor& bias, double eps) {
  check_channels("group_norm", input);
  const std::int64_t channels = input.shape()[1];
  BP_CHECK(num_groups > 0 && channels % num_groups == 0,
           "group_norm: {} channels do not make {} groups of equal size; choose a divisor",
           channels, num_groups);
  check_per_channel("group_norm", "weight", weight, input);
  check_per_channel("group_norm", "bias", bias, input);
  std::int64_t size = channels / num_groups;
  for (std::int64_t dim = 2; dim < input.ndim(); ++dim)
    size *= input.shape()[static_cast<std::size_t>(dim)];
  const Tensor rows = reshape(input, {input.shape()[0] * num_groups, size});
  Tensor flat = reshape(native_layer_norm(rows, {size}, {}, {}, eps).result, input.shape());
  if (!weight.defined() && !bias.defined()) return flat;
  return in_dtype(scaled_and_shifted_by_channel(widened(flat), weight, bias), input.dtype());
}

Tensor batch_norm_by_moments(const Tensor& input, const Tensor& weight, const Tensor& bias,
                             const Tensor& running_mean, const Tensor& running_var, bool training,
                             double momentum, double eps) {
  check_channels("batch_norm", input);
  check_per_channel("batch_norm", "running_mean", running_mean, input);
  check_per_channel("batch_norm", "running_var", running_var, input);
  check_per_channel("batch_norm", "weight", weight, input);
  check_per_channel("batch_norm", "bias", bias, input);
  if (!training)
    return normalized_by_running("batch_norm", input, weight, bias, running_mean, running_var, eps);
  const std::int64_t channels = input.shape()[1],
                     count = channels == 0 ? 0 : input.numel() / channels;
  BP_CHECK(count != 1,
           "batch_norm: shape {} has one value for each channel, and training needs more; give a "
           "larger batch, or training=false",
           to_string(input.shape()));
  NativeBatchNormResult parts = native_batch_norm(input, weight, bias, eps);
  if (count != 0) take_over(running_mean, running_var, parts.mean, parts.variance, count, momentum);
  return std::move(parts.result);
}

NativeBatchNormResult native_batch_norm_by_moments(const Tensor& input, const Tensor& weight,
                                                   const Tensor& bias, double eps) {
  const Dims dims = all_but_channels(input.ndim());
  const Tensor wide = widened(input);
  const Tensor center = mean(wide, dims);
  const Tensor centered = sub(wide, by_channel(center, input.ndim()));
  const Tensor variance = mean(square(centered), dims);
  const Tensor flat = mul(centered, by_channel(rsqrt(add(variance, eps)), input.ndim()));
  const Tensor result = scaled_and_shifted_by_channel(flat, weight, bias);
  return {in_dtype(result, input.dtype()), center, variance};
}

BatchNormBackwardResult batch_norm_backward_by_sums(const Tensor& grad, const Tensor& input,
                                                    const Tensor& weight, const Tensor& center,
                                                    const Tensor& variance, double eps) {
  const Dims dims = all_but_channels(input.ndim());
  const std::int64_t rank = input.ndim(),
                     count = input.numel() / std::max<std::int64_t>(1, input.shape()[1]);
  const Tensor wide = widened(grad), rstd = rsqrt(add(variance, eps));
  const Tensor flat = normalized(input, by_channel(center, rank), by_channel(rstd, rank));
  const Tensor by_weight = sum(mul(wide, flat), dims), by_bias = sum(wide, dims);
  const Tensor rest = sub(sub(wide, by_channel(div(by_bias, count), rank)),
                          mul(flat, by_channel(div(by_weight, count), rank)));
  const Tensor factor = weight.defined() ? mul(rstd, widened(weight)) : rstd;
  return {in_dtype(mul(rest, by_channel(factor, rank)), input.dtype()),
          in_dtype(by_weight, input.dtype()), in_dtype(by_bias, input.dtype())};
}

Tensor instance_norm_by_groups(const Tensor& input, const Tensor& weight, const Tensor& bias,
                               const Tensor& running_mean, const Tensor& running_var,
                               bool use_input_stats, double momentum, double eps) {
  check_channels("instance_norm", input);
  check_per_channel("instance_norm", "running_mean", running_mean, input);
  check_per_channel("instance_norm", "running_var", running_var, input);
  if (!use_input_stats)
    return normalized_by_running("instance_norm", input, weight, bias, running_mean, running_var,
                                 eps);
  const std::int64_t images = input.shape()[0] * input.shape()[1];
  const std::int64_t count = images == 0 ? 0 : input.numel() / images;
  BP_CHECK(count != 1,
           "instance_norm: shape {} has one value for each channel of an image, and its statistics "
           "need more; give larger images",
           to_string(input.shape()));
  if ((running_mean.defined() || running_var.defined()) && count != 0) {
    const ExcludeLayers excluded(past_derivatives);
    Dims inner;
    for (std::int64_t dim = 2; dim < input.ndim(); ++dim) inner.push_back(dim);
    const Tensor wide = widened(input), center = mean(wide, inner, true);
    const Tensor variance = mean(square(sub(wide, center)), inner);
    take_over(running_mean, running_var, mean(reshape(center, variance.shape()), 0),
              mean(variance, 0), count, momentum);
  }
  return group_norm(input, std::max<std::int64_t>(1, input.shape()[1]), weight, bias, eps);
}

}  // namespace bp
