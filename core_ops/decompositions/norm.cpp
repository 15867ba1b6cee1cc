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

Dims normalized_dims(const Tensor& a, IntList normalized_shape) {
  Dims dims;
  for (auto dim = a.ndim() - static_cast<std::int64_t>(normalized_shape.size()); dim < a.ndim();
       ++dim)
    dims.push_back(dim);
  return dims;
}

// [channels], seen so that it broadcasts over [n, channels, ...].
Tensor by_channel(const Tensor& a, std::int64_t rank) {
  Dims shape(static_cast<std::uint32_t>(rank), 1);
  shape[1] = a.numel();
  return reshape(a, shape);
}
Dims all_but_channels(std::int64_t rank) {
  Dims dims;
  for (std::int64_t dim = 0; dim < rank; ++dim)
    if (dim != 1) dims.push_back(dim);
  return dims;
}

Tensor scaled_and_shifted(Tensor a, const Tensor& weight, const Tensor& bias) {
  if (weight.defined()) a = mul(a, widened(weight));
  if (bias.defined()) a = add(a, widened(bias));
  return a;
}
Tensor scaled_and_shifted_by_channel(const Tensor& a, const Tensor& weight, const Tensor& bias) {
  return scaled_and_shifted(a, weight.defined() ? by_channel(weight, a.ndim()) : weight,
                            bias.defined() ? by_channel(bias, a.ndim()) : bias);
}

// Kernels of rows take those that lie one behind the other, and a copy costs less than the parts do.
bool lie_in_rows(std::initializer_list<Tensor> all) {
  return std::all_of(all.begin(), all.end(),
                     [](const Tensor& each) { return !each.defined() || each.is_contiguous(); });
}
Tensor in_rows(const Tensor& a) {
  return a.defined() ? contiguous(a) : a;
}

// a before weight and bias.
Tensor normalized(const Tensor& a, const Tensor& mean, const Tensor& rstd) {
  const Tensor wide = widened(a);
  return mul(mean.defined() ? sub(wide, mean) : wide, rstd);
}

Tensor sum_of_rows(const Tensor& a, IntList normalized_shape) {
  Dims rows;
  for (std::int64_t dim = 0; dim < a.ndim() - static_cast<std::int64_t>(normalized_shape.size());
       ++dim)
    rows.push_back(dim);
  // Without dimensions, sum would take all.
  return rows.empty() ? a : sum(a, rows);
}

void check_channels(const char* op, const Tensor& a) {
  BP_CHECK(a.ndim() >= 2, "{}: shape {} has no channels; give [n, channels, ...]", op,
           to_string(a.shape()));
}
void check_per_channel(const char* op, const char* what, const Tensor& values, const Tensor& a) {
  BP_CHECK(!values.defined() || (values.ndim() == 1 && values.numel() == a.shape()[1]),
           "{}: {} has shape {}, and a has {} channels; give a vector with one number for each", op,
           what, to_string(values.shape()), a.shape()[1]);
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

Tensor normalized_by_running(const char* op, const Tensor& a, const Tensor& weight,
                             const Tensor& bias, const Tensor& running_mean,
                             const Tensor& running_var, double eps) {
  BP_CHECK(running_mean.defined() && running_var.defined(),
           "{}: in evaluation there must be running_mean and running_var; give both", op);
  const Tensor scale = rsqrt(add(widened(running_var), eps));
  const Tensor factor = weight.defined() ? mul(scale, widened(weight)) : scale;
  const Tensor lowered = neg(mul(widened(running_mean), factor));
  const Tensor shift = bias.defined() ? add(lowered, widened(bias)) : lowered;
  const Tensor scaled = mul(widened(a), by_channel(factor, a.ndim()));
  return in_dtype(add(scaled, by_channel(shift, a.ndim())), a.dtype());
}

}  // namespace

double smallest_step(const Tensor& a) {
  return a.dtype() == f64 ? std::numeric_limits<double>::epsilon()
                          : std::numeric_limits<float>::epsilon();
}

NativeLayerNormResult layer_norm_by_moments(const Tensor& a, IntList normalized_shape,
                                            const Tensor& weight, const Tensor& bias, double eps) {
  if (!lie_in_rows({a, weight, bias}))
    return native_layer_norm(in_rows(a), normalized_shape, in_rows(weight), in_rows(bias), eps);
  const Dims dims = normalized_dims(a, normalized_shape);
  const Tensor wide = widened(a);
  const Tensor center = mean(wide, dims, true);
  const Tensor rstd = rsqrt(add(mean(square(sub(wide, center)), dims, true), eps));
  const Tensor result = scaled_and_shifted(normalized(wide, center, rstd), weight, bias);
  return {in_dtype(result, a.dtype()), center, rstd};
}

NativeRmsNormResult rms_norm_by_moments(const Tensor& a, IntList normalized_shape,
                                        const Tensor& weight, double eps) {
  if (!lie_in_rows({a, weight}))
    return native_rms_norm(in_rows(a), normalized_shape, in_rows(weight), eps);
  const Dims dims = normalized_dims(a, normalized_shape);
  const Tensor wide = widened(a);
  const Tensor rstd = rsqrt(add(mean(square(wide), dims, true), eps));
  return {in_dtype(scaled_and_shifted(mul(wide, rstd), weight, {}), a.dtype()), rstd};
}

Tensor norm_backward_by_means(const Tensor& grad, const Tensor& a, IntList normalized_shape,
                              const Tensor& center, const Tensor& rstd, const Tensor& weight) {
  if (!lie_in_rows({grad, a, center, rstd, weight}))
    return norm_backward(in_rows(grad), in_rows(a), normalized_shape, in_rows(center),
                         in_rows(rstd), in_rows(weight));
  const Dims dims = normalized_dims(a, normalized_shape);
  const Tensor flat = normalized(a, center, rstd);
  const Tensor inner = scaled_and_shifted(widened(grad), weight, {});
  Tensor rest = sub(inner, mul(flat, mean(mul(inner, flat), dims, true)));
  if (center.defined()) rest = sub(rest, mean(inner, dims, true));
  return in_dtype(mul(rest, rstd), a.dtype());
}

Tensor norm_weight_backward_by_sum(const Tensor& grad, const Tensor& a, IntList normalized_shape,
                                   const Tensor& center, const Tensor& rstd) {
  if (!lie_in_rows({grad, a, center, rstd}))
    return norm_weight_backward(in_rows(grad), in_rows(a), normalized_shape, in_rows(center),
                                in_rows(rstd));
  const Tensor products = mul(widened(grad), normalized(a, center, rstd));
  return in_dtype(sum_of_rows(products, normalized_shape), a.dtype());
}

NormGradientsResult norm_gradients_one_by_one(const Tensor& grad, const Tensor& a,
                                              IntList normalized_shape, const Tensor& center,
                                              const Tensor& rstd, const Tensor& weight) {
  if (!lie_in_rows({grad, a, center, rstd, weight}))
    return norm_gradients(in_rows(grad), in_rows(a), normalized_shape, in_rows(center),
                          in_rows(rstd), in_rows(weight));
  Tensor by_bias =
      center.defined() ? sum_of_rows(grad, normalized_shape) : empty({0}, a.dtype(), a.device());
  return {norm_backward(grad, a, normalized_shape, center, rstd, weight),
          norm_weight_backward(grad, a, normalized_shape, center, rstd), std::move(by_bias)};
}

Tensor group_norm_by_rows(const Tensor& a, std::int64_t num_groups, const Tensor& weight,
                          const Tensor& bias, double eps) {
  check_channels("group_norm", a);
  const std::int64_t channels = a.shape()[1];
  BP_CHECK(num_groups > 0 && channels % num_groups == 0,
           "group_norm: {} channels do not make {} groups of equal size; choose a divisor",
           channels, num_groups);
  check_per_channel("group_norm", "weight", weight, a);
  check_per_channel("group_norm", "bias", bias, a);
  std::int64_t size = channels / num_groups;
  for (std::int64_t dim = 2; dim < a.ndim(); ++dim)
    size *= a.shape()[static_cast<std::size_t>(dim)];
  const Tensor rows = reshape(a, {a.shape()[0] * num_groups, size});
  Tensor flat = reshape(native_layer_norm(rows, {size}, {}, {}, eps).result, a.shape());
  if (!weight.defined() && !bias.defined()) return flat;
  return in_dtype(scaled_and_shifted_by_channel(widened(flat), weight, bias), a.dtype());
}

Tensor batch_norm_by_moments(const Tensor& a, const Tensor& weight, const Tensor& bias,
                             const Tensor& running_mean, const Tensor& running_var, bool training,
                             double momentum, double eps) {
  check_channels("batch_norm", a);
  check_per_channel("batch_norm", "running_mean", running_mean, a);
  check_per_channel("batch_norm", "running_var", running_var, a);
  check_per_channel("batch_norm", "weight", weight, a);
  check_per_channel("batch_norm", "bias", bias, a);
  if (!training)
    return normalized_by_running("batch_norm", a, weight, bias, running_mean, running_var, eps);
  const std::int64_t channels = a.shape()[1], count = channels == 0 ? 0 : a.numel() / channels;
  BP_CHECK(count != 1,
           "batch_norm: shape {} has one value for each channel, and training needs more; give a "
           "larger batch, or training=false",
           to_string(a.shape()));
  NativeBatchNormResult parts = native_batch_norm(a, weight, bias, eps);
  if (count != 0) take_over(running_mean, running_var, parts.mean, parts.variance, count, momentum);
  return std::move(parts.result);
}

NativeBatchNormResult native_batch_norm_by_moments(const Tensor& a, const Tensor& weight,
                                                   const Tensor& bias, double eps) {
  const Dims dims = all_but_channels(a.ndim());
  const Tensor wide = widened(a);
  const Tensor center = mean(wide, dims);
  const Tensor centered = sub(wide, by_channel(center, a.ndim()));
  const Tensor variance = mean(square(centered), dims);
  const Tensor flat = mul(centered, by_channel(rsqrt(add(variance, eps)), a.ndim()));
  const Tensor result = scaled_and_shifted_by_channel(flat, weight, bias);
  return {in_dtype(result, a.dtype()), center, variance};
}

BatchNormBackwardResult batch_norm_backward_by_sums(const Tensor& grad, const Tensor& a,
                                                    const Tensor& weight, const Tensor& center,
                                                    const Tensor& variance, double eps) {
  const Dims dims = all_but_channels(a.ndim());
  const std::int64_t rank = a.ndim(), count = a.numel() / std::max<std::int64_t>(1, a.shape()[1]);
  const Tensor wide = widened(grad), rstd = rsqrt(add(variance, eps));
  const Tensor flat = normalized(a, by_channel(center, rank), by_channel(rstd, rank));
  const Tensor by_weight = sum(mul(wide, flat), dims), by_bias = sum(wide, dims);
  const Tensor rest = sub(sub(wide, by_channel(div(by_bias, count), rank)),
                          mul(flat, by_channel(div(by_weight, count), rank)));
  const Tensor factor = weight.defined() ? mul(rstd, widened(weight)) : rstd;
  return {in_dtype(mul(rest, by_channel(factor, rank)), a.dtype()), in_dtype(by_weight, a.dtype()),
          in_dtype(by_bias, a.dtype())};
}

Tensor instance_norm_by_groups(const Tensor& a, const Tensor& weight, const Tensor& bias,
                               const Tensor& running_mean, const Tensor& running_var,
                               bool use_input_stats, double momentum, double eps) {
  check_channels("instance_norm", a);
  check_per_channel("instance_norm", "running_mean", running_mean, a);
  check_per_channel("instance_norm", "running_var", running_var, a);
  if (!use_input_stats)
    return normalized_by_running("instance_norm", a, weight, bias, running_mean, running_var, eps);
  const std::int64_t images = a.shape()[0] * a.shape()[1];
  const std::int64_t count = images == 0 ? 0 : a.numel() / images;
  BP_CHECK(count != 1,
           "instance_norm: shape {} has one value for each channel of an image, and its statistics "
           "need more; give larger images",
           to_string(a.shape()));
  if ((running_mean.defined() || running_var.defined()) && count != 0) {
    const ExcludeLayers excluded(past_derivatives);
    Dims inner;
    for (std::int64_t dim = 2; dim < a.ndim(); ++dim) inner.push_back(dim);
    const Tensor wide = widened(a), center = mean(wide, inner, true);
    const Tensor variance = mean(square(sub(wide, center)), inner);
    take_over(running_mean, running_var, mean(reshape(center, variance.shape()), 0),
              mean(variance, 0), count, momentum);
  }
  return group_norm(a, std::max<std::int64_t>(1, a.shape()[1]), weight, bias, eps);
}

}  // namespace bp
