// Products, normalizations, losses.
#include "networks.hpp"

namespace bp::onnx {
namespace {

Dims last_sizes(const Tensor& input, std::int64_t axis) {
  const std::int64_t first = wrapped(axis, input.ndim());
  return IntList(input.shape().data() + first, static_cast<std::size_t>(input.ndim() - first));
}

}  // namespace

DimList dims_from(const Tensor& input, std::int64_t first) {
  static thread_local Dims dims;
  dims = Dims();
  for (std::int64_t i = first; i < input.ndim(); ++i) dims.push_back(i);
  return dims;
}

Tensor multiplied(const Tensor& a, const Tensor& b) {
  if (a.ndim() > 1 && b.ndim() > 1) return matmul(a, b);
  const Tensor result =
      matmul(a.ndim() == 1 ? unsqueeze(a, 0) : a, b.ndim() == 1 ? unsqueeze(b, 1) : b);
  const Tensor rows = b.ndim() == 1 ? squeeze(result, -1) : result;
  return a.ndim() == 1 ? squeeze(rows, b.ndim() == 1 ? -1 : -2) : rows;
}

Tensor product(const Tensor& a, const Tensor& b, const Tensor& c, double alpha, double beta) {
  if (c.defined() && is_floating(a.dtype()) && a.dtype() == c.dtype())
    return addmm(c, a, b, beta, alpha);
  Tensor result = matmul(a, b);
  if (alpha != 1) result = result * alpha;
  if (!c.defined()) return result;
  return result + (beta == 1 ? c : c * beta);
}

Tensors batch_normalized(const Tensor& input, const Tensor& scale, const Tensor& bias,
                         const Tensor& mean, const Tensor& variance, double eps, double momentum,
                         bool training) {
  if (!training) {
    const Dtype dtype = variance.dtype();
    return {to(batch_norm(to(input, dtype), to(scale, dtype), to(bias, dtype), to(mean, dtype),
                          variance, false, momentum, eps),
               input.dtype())};
  }
  const NativeBatchNormResult found = native_batch_norm(input, scale, bias, eps);
  const auto moved = [&](const Tensor& from, const Tensor& towards) {
    return from * momentum + to(towards, from.dtype()) * (1 - momentum);
  };
  return {found.result, moved(mean, found.mean), moved(variance, found.variance)};
}

Tensors layer_normalized(const Tensor& input, const Tensor& scale, const Tensor& bias,
                         std::int64_t axis, double eps) {
  const Dims sizes = last_sizes(input, axis);
  const bool fits =
      scale.shape() == IntList(sizes) && (!bias.defined() || bias.shape() == IntList(sizes));
  NativeLayerNormResult found = fits ? native_layer_norm(input, sizes, scale, bias, eps)
                                     : native_layer_norm(input, sizes, {}, {}, eps);
  if (!fits) {
    found.result = found.result * scale;
    if (bias.defined()) found.result = found.result + bias;
  }
  return {found.result, found.mean, found.rstd};
}

Tensor rms_normalized(const Tensor& input, const Tensor& scale, std::int64_t axis, double eps) {
  const Dims sizes = last_sizes(input, axis);
  if (scale.shape() == IntList(sizes)) return rms_norm(input, sizes, scale, eps);
  return rms_norm(input, sizes, {}, eps) * scale;
}

Tensor unit_length(const Tensor& input, double power, std::int64_t axis) {
  return normalize(input, power, axis, 1e-30);
}

Tensor likelihood_loss(const Tensor& input, const Tensor& target, const Tensor& weight,
                       std::optional<std::int64_t> ignore_index, std::string_view reduction) {
  return nll_loss(input, to(target, i64), weight, ignore_index.value_or(-100), reduction);
}

}  // namespace bp::onnx
