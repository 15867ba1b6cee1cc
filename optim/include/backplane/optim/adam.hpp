// Adam and its variants: steps along the mean of the gradients, divided by the root of the mean of
// their squares.
#pragma once

#include <backplane/optim/optimizer.hpp>

namespace bp::optim {

struct AdamOptions {
  double lr = 1e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool amsgrad = false;
  bool maximize = false;
  bool decoupled_weight_decay = false;  // the decay is AdamW's
};

struct AdamWOptions {
  double lr = 1e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 1e-2;
  bool amsgrad = false;
  bool maximize = false;
};

// Kingma and Ba, 2015; `amsgrad` by Reddi, Kale and Kumar, 2018. The rows _fused_adam_ and
// _fused_adamw_ define the formula. All classes of this file throw bad_argument for negative
// options and betas outside [0, 1).
class BP_API Adam : public OptimizerOf<AdamOptions> {
 public:
  BP_OPTIMIZER(Adam)
  bool takes_scaling() const override { return true; }

 protected:
  void check_options(const AdamOptions& options) const override;
  std::vector<State::Entry> switches() const override;
  Fields fields(std::size_t group) const override;
  const Layout& layout() const override;
  bool needs(std::size_t group, std::size_t place) const override;
  void update(std::size_t group, Batch& batch, const GradScaling& scaling) override;
};

// Loshchilov and Hutter, 2019: the decay is not part of the gradient, but applied to the parameter
// directly.
class BP_API AdamW : public OptimizerOf<AdamWOptions> {
 public:
  BP_OPTIMIZER(AdamW)
  bool takes_scaling() const override { return true; }

 protected:
  void check_options(const AdamWOptions& options) const override;
  std::vector<State::Entry> switches() const override;
  Fields fields(std::size_t group) const override;
  const Layout& layout() const override;
  bool needs(std::size_t group, std::size_t place) const override;
  void update(std::size_t group, Batch& batch, const GradScaling& scaling) override;
};

struct NAdamOptions {
  double lr = 2e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum_decay = 4e-3;
  bool decoupled_weight_decay = false;
  bool maximize = false;
};

// Dozat, 2016: Adam with Nesterov's momentum.
class BP_API NAdam : public OptimizerOf<NAdamOptions> {
 public:
  BP_OPTIMIZER(NAdam)

 protected:
  void check_options(const NAdamOptions& options) const override;
  Fields fields(std::size_t group) const override;
  const Layout& layout() const override;
  double initial_number(std::size_t group, std::size_t place) const override;
  void update(std::size_t group, Batch& batch, const GradScaling& scaling) override;
};

struct RAdamOptions {
  double lr = 1e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool decoupled_weight_decay = false;
  bool maximize = false;
};

// Liu et al., 2020: Adam that trusts its squares only once enough steps have gone into them.
class BP_API RAdam : public OptimizerOf<RAdamOptions> {
 public:
  BP_OPTIMIZER(RAdam)

 protected:
  void check_options(const RAdamOptions& options) const override;
  Fields fields(std::size_t group) const override;
  const Layout& layout() const override;
  void update(std::size_t group, Batch& batch, const GradScaling& scaling) override;
};

struct AdamaxOptions {
  double lr = 2e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool maximize = false;
};

// Kingma and Ba, 2015, section 7.1: the greatest of decayed gradients in place of the root of their squares.
class BP_API Adamax : public OptimizerOf<AdamaxOptions> {
 public:
  BP_OPTIMIZER(Adamax)

 protected:
  void check_options(const AdamaxOptions& options) const override;
  Fields fields(std::size_t group) const override;
  const Layout& layout() const override;
  void update(std::size_t group, Batch& batch, const GradScaling& scaling) override;
};

}  // namespace bp::optim
