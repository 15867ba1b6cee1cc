#include <algorithm>
#include <cmath>
#include <limits>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/forms.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/operators.hpp>
#include <backplane/nn/init.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::nn::init {
namespace {

struct Fans {
  double in, out;
};
Fans fans_of(const char* function, const Tensor& tensor) {
  BP_CHECK(tensor.ndim() >= 2,
           "{}: the tensor has shape {}, and fan-in and fan-out need 2 dimensions or more",
           function, bp::to_string(tensor.shape()));
  double kernel = 1;
  for (std::int64_t i = 2; i < tensor.ndim(); ++i) kernel *= static_cast<double>(tensor.size(i));
  return {static_cast<double>(tensor.size(1)) * kernel,
          static_cast<double>(tensor.size(0)) * kernel};
}

double kaiming_deviation(const char* function, const Tensor& tensor, double a,
                         std::string_view mode, std::string_view nonlinearity) {
  BP_CHECK(mode == "fan_in" || mode == "fan_out", "{}: the mode is '{}'; use 'fan_in' or 'fan_out'",
           function, mode);
  const Fans fans = fans_of(function, tensor);
  return calculate_gain(nonlinearity, a) / std::sqrt(mode == "fan_in" ? fans.in : fans.out);
}

// What numbers are computed in for the tensor.
Dtype drawn_dtype(const char* function, const Tensor& tensor) {
  BP_CHECK(is_floating(tensor.dtype()), "{}: the tensor is {}; pass a floating-point one", function,
           name(tensor.dtype()));
  return tensor.itemsize() < 4 ? f32 : tensor.dtype();
}

double xavier_deviation(const char* function, const Tensor& tensor, double gain) {
  const Fans fans = fans_of(function, tensor);
  return gain * std::sqrt(2 / (fans.in + fans.out));
}

// Uniform numbers of this deviation.
const Tensor& uniform_of(const Tensor& tensor, double deviation, Generator* generator) {
  const double bound = std::sqrt(3.0) * deviation;
  return init::uniform_(tensor, -bound, bound, generator);
}

double normal_cdf(double x) {
  return std::erfc(-x / std::sqrt(2.0)) / 2;
}

}  // namespace

double calculate_gain(std::string_view nonlinearity, std::optional<double> param) {
  if (nonlinearity == "linear" || nonlinearity == "sigmoid" || nonlinearity.starts_with("conv"))
    return 1;
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "relu") return std::sqrt(2.0);
  if (nonlinearity == "selu") return 3.0 / 4;
  BP_CHECK(nonlinearity == "leaky_relu",
           "calculate_gain: no nonlinearity '{}'; use linear, conv1d to conv3d, their transposed "
           "forms, sigmoid, tanh, relu, leaky_relu or selu",
           nonlinearity);
  const double slope = param.value_or(0.01);
  return std::sqrt(2 / (1 + slope * slope));
}

const Tensor& uniform_(const Tensor& tensor, double a, double b, Generator* generator) {
  const NoGrad no_grad;
  return bp::uniform_(tensor, a, b, generator);
}

const Tensor& normal_(const Tensor& tensor, double mean, double std, Generator* generator) {
  const NoGrad no_grad;
  return bp::normal_(tensor, mean, std, generator);
}

// By the inverse of the distribution: no number is drawn twice, however far out a and b are.
const Tensor& trunc_normal_(const Tensor& tensor, double mean, double std, double a, double b,
                            Generator* generator) {
  BP_CHECK(a <= b, "trunc_normal_: no numbers from {} to {}; let a be at most b", a, b);
  BP_CHECK(std > 0 && std::isfinite(std) && std::isfinite(mean),
           "trunc_normal_: the mean is {} and the deviation {}; pass numbers that are finite, the "
           "deviation above 0",
           mean, std);
  const NoGrad no_grad;
  const Dtype dtype = drawn_dtype("trunc_normal_", tensor);
  const Tensor drawn = empty(tensor.shape(), dtype, tensor.device());
  // Above the mean, the share below a number is so near 1 that digits are lost: there it is drawn from the other side.
  const double side = a > mean ? -1 : 1;
  const double low = (side < 0 ? mean - b : a - mean) / std;
  const double high = (side < 0 ? mean - a : b - mean) / std;
  // Shares below the dtype's least number are that number, whose place is beyond a: the clamp makes it a.
  const double least =
      dtype == f64 ? std::numeric_limits<double>::min() : double{std::numeric_limits<float>::min()};
  bp::uniform_(drawn, std::max(normal_cdf(low), least), std::max(normal_cdf(high), least),
               generator);
  return copy_(tensor, clamp(ndtri(drawn) * (side * std) + mean, a, b));
}

const Tensor& constant_(const Tensor& tensor, double val) {
  const NoGrad no_grad;
  return fill_(tensor, val);
}

const Tensor& ones_(const Tensor& tensor) {
  return constant_(tensor, 1);
}

const Tensor& zeros_(const Tensor& tensor) {
  return constant_(tensor, 0);
}

const Tensor& eye_(const Tensor& tensor) {
  BP_CHECK(tensor.ndim() == 2, "eye_: the tensor has shape {}; pass one of 2 dimensions",
           bp::to_string(tensor.shape()));
  const NoGrad no_grad;
  return copy_(tensor, eye(tensor.size(0), tensor.size(1), tensor.dtype(), tensor.device()));
}

const Tensor& dirac_(const Tensor& tensor, std::int64_t groups) {
  BP_CHECK(tensor.ndim() >= 3 && tensor.ndim() <= 5,
           "dirac_: the tensor has shape {}; pass one of 3, 4 or 5 dimensions",
           bp::to_string(tensor.shape()));
  BP_CHECK(groups > 0 && tensor.size(0) % groups == 0,
           "dirac_: {} output channels are not divisible into {} groups; choose a divisor",
           tensor.size(0), groups);
  if (tensor.numel() == 0) return tensor;
  const std::int64_t in_group = tensor.size(0) / groups;
  std::int64_t kernel = 1, center = 0;
  for (std::int64_t i = 2; i < tensor.ndim(); ++i) {
    kernel *= tensor.size(i);
    center = center * tensor.size(i) + tensor.size(i) / 2;
  }
  std::vector<double> values(static_cast<std::size_t>(tensor.numel()), 0);
  for (std::int64_t out = 0; out < tensor.size(0); ++out)
    if (const std::int64_t in = out % in_group; in < tensor.size(1))
      values[static_cast<std::size_t>((out * tensor.size(1) + in) * kernel + center)] = 1;
  const NoGrad no_grad;
  return copy_(tensor, bp::tensor(values, tensor.shape()));
}

const Tensor& xavier_uniform_(const Tensor& tensor, double gain, Generator* generator) {
  return uniform_of(tensor, xavier_deviation("xavier_uniform_", tensor, gain), generator);
}

const Tensor& xavier_normal_(const Tensor& tensor, double gain, Generator* generator) {
  return init::normal_(tensor, 0, xavier_deviation("xavier_normal_", tensor, gain), generator);
}

const Tensor& kaiming_uniform_(const Tensor& tensor, double a, std::string_view mode,
                               std::string_view nonlinearity, Generator* generator) {
  const double deviation = kaiming_deviation("kaiming_uniform_", tensor, a, mode, nonlinearity);
  return tensor.numel() ? uniform_of(tensor, deviation, generator) : tensor;
}

const Tensor& kaiming_normal_(const Tensor& tensor, double a, std::string_view mode,
                              std::string_view nonlinearity, Generator* generator) {
  const double deviation = kaiming_deviation("kaiming_normal_", tensor, a, mode, nonlinearity);
  return tensor.numel() ? init::normal_(tensor, 0, deviation, generator) : tensor;
}

const Tensor& orthogonal_(const Tensor& tensor, double gain, Generator* generator) {
  fans_of("orthogonal_", tensor);
  if (tensor.numel() == 0) return tensor;
  const NoGrad no_grad;
  const std::int64_t rows = tensor.size(0), columns = tensor.numel() / rows;
  const bool is_wide = rows < columns;
  const Dtype dtype = drawn_dtype("orthogonal_", tensor);  // the factorization takes no 16 bits
  const Tensor drawn =
      randn({std::max(rows, columns), std::min(rows, columns)}, dtype, tensor.device(), generator);
  const LinalgQrResult parts = linalg_qr(drawn);
  // The signs make it uniform among all such matrices.
  const Tensor q = parts.Q * sign(diagonal(parts.R));
  return copy_(tensor, reshape((is_wide ? transpose(q, 0, 1) : q) * gain, tensor.shape()));
}

const Tensor& sparse_(const Tensor& tensor, double sparsity, double std, Generator* generator) {
  BP_CHECK(tensor.ndim() == 2, "sparse_: the tensor has shape {}; pass one of 2 dimensions",
           bp::to_string(tensor.shape()));
  BP_CHECK(sparsity >= 0 && sparsity <= 1,
           "sparse_: the sparsity is {}; pass a fraction from 0 to 1", sparsity);
  const NoGrad no_grad;
  bp::normal_(tensor, 0, std, generator);
  if (tensor.numel() == 0) return tensor;
  const auto num_zeros =
      static_cast<std::int64_t>(std::ceil(sparsity * static_cast<double>(tensor.size(0))));
  // Each column of `order` is a permutation of its own.
  const Tensor order = argsort(rand(tensor.shape(), f32, tensor.device(), generator), 0);
  return copy_(tensor, bp::masked_fill(tensor, order < num_zeros, Scalar(0)));
}

}  // namespace bp::nn::init
