// Activations: functions of each element, gates, and functions along a dimension.
#pragma once

#include <backplane/core_ops/generated/activation.hpp>
#include <backplane/core_ops/generated/pointwise.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/nn/stateless.hpp>
#include <backplane/runtime/settings.hpp>

namespace bp::nn {

class Sigmoid : public Function<bp::sigmoid> {};
class Tanh : public Function<bp::tanh> {};
class LogSigmoid : public Function<bp::logsigmoid> {};
class Softsign : public Function<bp::softsign> {};
class Tanhshrink : public Function<bp::tanhshrink> {};

class ReLU : public InplaceFunction<bp::relu, bp::relu_> {
  using InplaceFunction::InplaceFunction;
};
class ReLU6 : public InplaceFunction<bp::relu6, bp::relu6_> {
  using InplaceFunction::InplaceFunction;
};
class SELU : public InplaceFunction<bp::selu, bp::selu_> {
  using InplaceFunction::InplaceFunction;
};
class SiLU : public InplaceFunction<bp::silu, bp::silu_> {
  using InplaceFunction::InplaceFunction;
};
class Mish : public InplaceFunction<bp::mish, bp::mish_> {
  using InplaceFunction::InplaceFunction;
};
// Neither prints anything, like PyTorch's.
class Hardswish : public InplaceFunction<bp::hardswish, bp::hardswish_> {
 public:
  using InplaceFunction::InplaceFunction;
  std::string extra_repr() const override { return {}; }
};
class Hardsigmoid : public InplaceFunction<bp::hardsigmoid, bp::hardsigmoid_> {
 public:
  using InplaceFunction::InplaceFunction;
  std::string extra_repr() const override { return {}; }
};

struct BP_API ELUOptions {
  double alpha = 1;
  bool inplace = false;
  Tensor apply(const Tensor& x) const;
  std::string text() const;
};
// x above 0, alpha * (exp(x) - 1) below.
class ELU : public Stateless<ELUOptions> {
  using Stateless::Stateless;
};

struct BP_API CELUOptions {
  double alpha = 1;
  bool inplace = false;
  void check() const;
  Tensor apply(const Tensor& x) const;
  std::string text() const;
};
// x above 0, alpha * (exp(x / alpha) - 1) below.
class CELU : public Stateless<CELUOptions> {
  using Stateless::Stateless;
};

struct BP_API LeakyReLUOptions {
  double negative_slope = 0.01;
  bool inplace = false;
  Tensor apply(const Tensor& x) const;
  std::string text() const;
};
class LeakyReLU : public Stateless<LeakyReLUOptions> {
  using Stateless::Stateless;
};

struct BP_API HardtanhOptions {
  double min_val = -1;
  double max_val = 1;
  bool inplace = false;
  void check() const;
  Tensor apply(const Tensor& x) const;
  std::string text() const;
};
class Hardtanh : public Stateless<HardtanhOptions> {
  using Stateless::Stateless;
};

struct BP_API ThresholdOptions {
  double threshold = 0;
  double value = 0;
  bool inplace = false;
  Tensor apply(const Tensor& x) const;
  std::string text() const;
};
// x above the threshold, else the value.
class Threshold : public Stateless<ThresholdOptions> {
 public:
  Threshold(double threshold, double value, const InplaceOptions& options = {})
      : Stateless({.threshold = threshold, .value = value, .inplace = options.inplace}) {}
};

struct BP_API RReLUOptions {
  double lower = 1.0 / 8;
  double upper = 1.0 / 3;
  bool inplace = false;
  void check() const;
  Tensor apply(const Tensor& x, bool training) const;
  std::string text() const;
};
// A leaky ReLU whose slope is drawn between the two for each element in training, and is their mean otherwise (Xu et al.,
// Empirical Evaluation of Rectified Activations, 2015).
class RReLU : public Stateless<RReLUOptions> {
  using Stateless::Stateless;
};

struct BP_API GELUOptions {
  std::string approximate = "none";  // or "tanh"
  void check() const;
  Tensor apply(const Tensor& x) const;
  std::string text() const;
};
class GELU : public Stateless<GELUOptions> {
  using Stateless::Stateless;
};

struct BP_API SoftplusOptions {
  double beta = 1;
  double threshold = 20;  // x itself where beta * x is above
  Tensor apply(const Tensor& x) const;
  std::string text() const;
};
class Softplus : public Stateless<SoftplusOptions> {
  using Stateless::Stateless;
};

struct BP_API HardshrinkOptions {
  double lambd = 0.5;
  Tensor apply(const Tensor& x) const;
  std::string text() const;
};
class Hardshrink : public Stateless<HardshrinkOptions> {
  using Stateless::Stateless;
};

struct BP_API SoftshrinkOptions {
  double lambd = 0.5;
  void check() const;
  Tensor apply(const Tensor& x) const;
  std::string text() const;
};
class Softshrink : public Stateless<SoftshrinkOptions> {
  using Stateless::Stateless;
};

struct BP_API GLUOptions {
  std::int64_t dim = -1;
  Tensor apply(const Tensor& x) const;
  std::string text() const;
};
// The first half along `dim` times sigmoid of the second.
class GLU : public Stateless<GLUOptions> {
  using Stateless::Stateless;
};

// Without `dim`, the first dimension of tensors of rank 0, 1 and 3, and the second of others, as PyTorch takes it.
struct BP_API SoftmaxOptions {
  std::optional<std::int64_t> dim = {};
  Tensor apply(const Tensor& x) const;
  std::string text() const;
};
class Softmax : public Stateless<SoftmaxOptions> {
 public:
  explicit Softmax(std::optional<std::int64_t> dim = {}) : Stateless({.dim = dim}) {}
};

struct BP_API LogSoftmaxOptions {
  std::optional<std::int64_t> dim = {};
  Tensor apply(const Tensor& x) const;
  std::string text() const;
};
class LogSoftmax : public Stateless<LogSoftmaxOptions> {
 public:
  explicit LogSoftmax(std::optional<std::int64_t> dim = {}) : Stateless({.dim = dim}) {}
};

struct BP_API SoftminOptions {
  std::optional<std::int64_t> dim = {};
  Tensor apply(const Tensor& x) const;
  std::string text() const;
};
class Softmin : public Stateless<SoftminOptions> {
 public:
  explicit Softmin(std::optional<std::int64_t> dim = {}) : Stateless({.dim = dim}) {}
};

// Over the channels of [N, C, H, W] or [C, H, W].
class BP_API Softmax2d : public Module {
 public:
  Tensor forward(const Tensor& x) const override;
};

struct PReLUOptions {
  std::int64_t num_parameters = 1;  // or the number of channels
  double init = 0.25;
  Dtype dtype = default_dtype();
  Device device = default_device();
};
// A leaky ReLU whose slopes are learned, one for all or one for each index of dimension 1.
class BP_API PReLU : public Module {
 public:
  explicit PReLU(const PReLUOptions& options = {});
  void list_parts(Parts& parts) override;
  Tensor forward(const Tensor& x) const override;
  std::string extra_repr() const override;

  Parameter weight;  // [num_parameters]
};

}  // namespace bp::nn
