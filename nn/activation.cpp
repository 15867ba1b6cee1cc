#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/operators.hpp>
#include <backplane/nn/activation.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::nn {
namespace {

const char* inplace_text(bool inplace) {
  return inplace ? ", inplace=True" : "";
}

std::int64_t softmax_dim(std::optional<std::int64_t> dim, const Tensor& x) {
  return dim.value_or(x.ndim() == 0 || x.ndim() == 1 || x.ndim() == 3 ? 0 : 1);
}

}  // namespace

Tensor ELUOptions::apply(const Tensor& x) const {
  return inplace ? elu_(x, alpha) : elu(x, alpha);
}

std::string ELUOptions::text() const {
  return fmt::format("alpha={}{}", repr(alpha), inplace_text(inplace));
}

void CELUOptions::check() const {
  BP_CHECK(alpha != 0, "CELU: alpha is 0, and CELU divides by it; pass another number");
}

Tensor CELUOptions::apply(const Tensor& x) const {
  return inplace ? celu_(x, alpha) : celu(x, alpha);
}

std::string CELUOptions::text() const {
  return fmt::format("alpha={}{}", repr(alpha), inplace_text(inplace));
}

Tensor LeakyReLUOptions::apply(const Tensor& x) const {
  return inplace ? leaky_relu_(x, negative_slope) : leaky_relu(x, negative_slope);
}

std::string LeakyReLUOptions::text() const {
  return fmt::format("negative_slope={}{}", repr(negative_slope), inplace_text(inplace));
}

void HardtanhOptions::check() const {
  BP_CHECK(max_val > min_val,
           "Hardtanh: max_val {} is not above min_val {}; pass the smaller number first", max_val,
           min_val);
}

Tensor HardtanhOptions::apply(const Tensor& x) const {
  return inplace ? hardtanh_(x, min_val, max_val) : hardtanh(x, min_val, max_val);
}

std::string HardtanhOptions::text() const {
  return fmt::format("min_val={}, max_val={}{}", repr(min_val), repr(max_val),
                     inplace_text(inplace));
}

Tensor ThresholdOptions::apply(const Tensor& x) const {
  return inplace ? threshold_(x, threshold, value) : bp::threshold(x, threshold, value);
}

std::string ThresholdOptions::text() const {
  return fmt::format("threshold={}, value={}{}", repr(threshold), repr(value),
                     inplace_text(inplace));
}

void RReLUOptions::check() const {
  BP_CHECK(lower <= upper, "RReLU: lower {} is above upper {}; pass the smaller slope first", lower,
           upper);
}

Tensor RReLUOptions::apply(const Tensor& x, bool training) const {
  if (!training) {
    const double slope = (lower + upper) / 2;
    return inplace ? leaky_relu_(x, slope) : leaky_relu(x, slope);
  }
  const Tensor slopes = rand(x.shape(), x.dtype(), x.device()) * (upper - lower) + lower;
  const Tensor factors = where(x > 0, 1.0, slopes);
  return inplace ? mul_(x, factors) : x * factors;
}

std::string RReLUOptions::text() const {
  return fmt::format("lower={}, upper={}{}", repr(lower), repr(upper), inplace_text(inplace));
}

void GELUOptions::check() const {
  BP_CHECK(approximate == "none" || approximate == "tanh",
           "GELU: approximate is '{}'; pass 'none' or 'tanh'", approximate);
}

Tensor GELUOptions::apply(const Tensor& x) const {
  return approximate == "tanh" ? gelu_tanh(x) : gelu(x);
}

std::string GELUOptions::text() const {
  return fmt::format("approximate='{}'", approximate);
}

Tensor SoftplusOptions::apply(const Tensor& x) const {
  return softplus(x, beta, threshold);
}

std::string SoftplusOptions::text() const {
  return fmt::format("beta={}, threshold={}", repr(beta), repr(threshold));
}

Tensor HardshrinkOptions::apply(const Tensor& x) const {
  return hardshrink(x, lambd);
}

std::string HardshrinkOptions::text() const {
  return repr(lambd);
}

void SoftshrinkOptions::check() const {
  BP_CHECK(lambd >= 0, "Softshrink: lambd is {}; pass 0 or more", lambd);
}

Tensor SoftshrinkOptions::apply(const Tensor& x) const {
  return softshrink(x, lambd);
}

std::string SoftshrinkOptions::text() const {
  return repr(lambd);
}

Tensor GLUOptions::apply(const Tensor& x) const {
  return glu(x, dim);
}

std::string GLUOptions::text() const {
  return fmt::format("dim={}", dim);
}

Tensor SoftmaxOptions::apply(const Tensor& x) const {
  return softmax(x, softmax_dim(dim, x));
}

std::string SoftmaxOptions::text() const {
  return fmt::format("dim={}", repr(dim));
}

Tensor LogSoftmaxOptions::apply(const Tensor& x) const {
  return log_softmax(x, softmax_dim(dim, x));
}

std::string LogSoftmaxOptions::text() const {
  return fmt::format("dim={}", repr(dim));
}

Tensor SoftminOptions::apply(const Tensor& x) const {
  return softmin(x, softmax_dim(dim, x));
}

std::string SoftminOptions::text() const {
  return fmt::format("dim={}", repr(dim));
}

Tensor Softmax2d::forward(const Tensor& x) const {
  BP_CHECK(x.ndim() == 3 || x.ndim() == 4,
           "Softmax2d: the input is {}; pass [N, C, H, W] or [C, H, W]", to_string(x.shape()));
  return softmax(x, -3);
}

PReLU::PReLU(const PReLUOptions& options)
    : weight(full({options.num_parameters}, options.init, options.dtype, options.device)) {}

void PReLU::list_parts(Parts& parts) {
  parts.parameter("weight", weight);
}

Tensor PReLU::forward(const Tensor& x) const {
  return prelu(x, weight);
}

std::string PReLU::extra_repr() const {
  return fmt::format("num_parameters={}", weight.numel());
}

}  // namespace bp::nn
