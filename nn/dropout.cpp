#include <cmath>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/operators.hpp>
#include <backplane/nn/dropout.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::nn {
namespace {

// The limit of SELU at minus infinity, -scale * alpha.
constexpr double selu_floor = -1.7580993408473766;

// [N, C, 1, ...], or [C, 1, ...] without a batch.
std::vector<std::int64_t> channel_shape(const Tensor& x, std::size_t num_kept) {
  std::vector<std::int64_t> shape(x.ndim(), 1);
  for (std::size_t i = 0; i < num_kept; ++i) shape[i] = x.shape()[i];
  return shape;
}

Tensor scaled(const Tensor& x, const Tensor& factors, bool inplace) {
  return inplace ? mul_(x, factors) : x * factors;
}

Tensor to_alpha(const Tensor& x, const std::vector<std::int64_t>& shape,
                const DropoutOptions& options) {
  const double p = options.p;
  BP_CHECK(is_floating(x.dtype()),
           "alpha dropout: the input is {}; cast it to a floating-point dtype", name(x.dtype()));
  if (p == 1) return scaled(x, zeros_like(x), options.inplace);
  const double a = 1 / std::sqrt((selu_floor * selu_floor * p + 1) * (1 - p));
  const Tensor kept = bernoulli(full(shape, 1 - p, x.dtype(), x.device()));
  const Tensor shift = (1 - kept) * (selu_floor * a) - selu_floor * a * p;
  const Tensor result = scaled(x, kept * a, options.inplace);
  return options.inplace ? add_(result, shift) : result + shift;
}

}  // namespace

void DropoutOptions::check() const {
  BP_CHECK(p >= 0 && p <= 1, "dropout: p is {}; pass a probability from 0 to 1", p);
}

std::string DropoutOptions::text() const {
  return fmt::format("p={}, inplace={}", repr(p), repr(inplace));
}

Tensor DropEach::apply(const Tensor& x, bool training) const {
  if (!inplace || !training || p == 0) return dropout(x, p, training);
  return mul_(x, dropout(ones_like(x), p, true));
}

template <int spatial_rank>
Tensor DropChannels<spatial_rank>::apply(const Tensor& x, bool training) const {
  const auto rank = static_cast<int>(x.ndim());
  // Two dimensions fewer are a batch of sequences for Dropout2d, as PyTorch has it.
  const bool has_batch = rank == spatial_rank + 2 || (spatial_rank == 2 && rank == 3);
  BP_CHECK(has_batch || rank == spatial_rank + 1,
           "Dropout{0}d: the input is {1}; pass {2} dimensions, or {3} without a batch",
           spatial_rank, to_string(x.shape()), spatial_rank + 2, spatial_rank + 1);
  if (!training || p == 0) return x;
  const Tensor kept = ones(channel_shape(x, has_batch ? 2 : 1), x.dtype(), x.device());
  return scaled(x, dropout(kept, p, true), inplace);
}
template struct DropChannels<1>;
template struct DropChannels<2>;
template struct DropChannels<3>;

Tensor DropToAlpha::apply(const Tensor& x, bool training) const {
  if (!training || p == 0) return x;
  return to_alpha(x, x.shape().to_vector(), *this);
}

Tensor DropChannelsToAlpha::apply(const Tensor& x, bool training) const {
  BP_CHECK(x.ndim() >= 2, "FeatureAlphaDropout: the input is {}; pass [N, C, ...]",
           to_string(x.shape()));
  if (!training || p == 0) return x;
  return to_alpha(x, channel_shape(x, 2), *this);
}

}  // namespace bp::nn
