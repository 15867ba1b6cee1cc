// Optimizers that divide each gradient by the size of earlier gradients of the same element: Adagrad, Adadelta,
// RMSprop; and two that use signs or averages: Rprop, ASGD.
#pragma once

#include <backplane/optim/optimizer.hpp>

namespace bp::optim {

// All classes of this file throw bad_argument for negative options.

struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0;
  double weight_decay = 0;
  double initial_accumulator_value = 0;
  double eps = 1e-10;
  bool maximize = false;
};

// Duchi, Hazan and Singer, 2011. The row _fused_adagrad_ defines the formula.
class BP_API Adagrad : public OptimizerOf<AdagradOptions> {
 public:
  BP_OPTIMIZER(Adagrad)
  bool takes_scaling() const override { return true; }

 protected:
  void check_options(const AdagradOptions& options) const override;
  std::vector<State::Entry> switches() const override {
    return {{"foreach", {}}, {"differentiable", false}, {"fused", {}}};
  }
  Fields fields(std::size_t group) const override;
  const Layout& layout() const override;
  Tensor initial_tensor(std::size_t group, std::size_t place,
                        const Tensor& parameter) const override;
  void update(std::size_t group, Batch& batch, const GradScaling& scaling) override;
};

struct AdadeltaOptions {
  double lr = 1;
  double rho = 0.9;
  double eps = 1e-6;
  double weight_decay = 0;
  bool maximize = false;
};

// Zeiler, 2012.
class BP_API Adadelta : public OptimizerOf<AdadeltaOptions> {
 public:
  // Throws for a rho above 1 as well.
  BP_OPTIMIZER(Adadelta)

 protected:
  void check_options(const AdadeltaOptions& options) const override;
  Fields fields(std::size_t group) const override;
  const Layout& layout() const override;
  void update(std::size_t group, Batch& batch, const GradScaling& scaling) override;
};

struct RMSpropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;
  bool maximize = false;
};

// Hinton's lecture, 2012; `centered` by Graves, 2013.
class BP_API RMSprop : public OptimizerOf<RMSpropOptions> {
 public:
  BP_OPTIMIZER(RMSprop)

 protected:
  void check_options(const RMSpropOptions& options) const override;
  Fields fields(std::size_t group) const override;
  const Layout& layout() const override;
  bool needs(std::size_t group, std::size_t place) const override;
  void update(std::size_t group, Batch& batch, const GradScaling& scaling) override;
};

struct RpropOptions {
  double lr = 1e-2;
  std::array<double, 2> etas{0.5, 1.2};
  std::array<double, 2> step_sizes{1e-6, 50};
  bool maximize = false;
};

// Riedmiller and Braun, 1993: steps by the gradient's sign, of a size that grows while the sign stays.
class BP_API Rprop : public OptimizerOf<RpropOptions> {
 public:
  // Throws unless 0 < etas[0] < 1 < etas[1].
  BP_OPTIMIZER(Rprop)

 protected:
  void check_options(const RpropOptions& options) const override;
  Fields fields(std::size_t group) const override;
  const Layout& layout() const override;
  Tensor initial_tensor(std::size_t group, std::size_t place,
                        const Tensor& parameter) const override;
  void update(std::size_t group, Batch& batch, const GradScaling& scaling) override;
};

struct ASGDOptions {
  double lr = 1e-2;
  double lambd = 1e-4;
  double alpha = 0.75;
  double t0 = 1e6;
  double weight_decay = 0;
  bool maximize = false;
};

// Polyak and Juditsky, 1992: gradient descent with a falling rate. "ax" of the state is the average since step `t0`.
class BP_API ASGD : public OptimizerOf<ASGDOptions> {
 public:
  BP_OPTIMIZER(ASGD)

 protected:
  void check_options(const ASGDOptions& options) const override;
  Fields fields(std::size_t group) const override;
  const Layout& layout() const override;
  double initial_number(std::size_t group, std::size_t place) const override;
  void update(std::size_t group, Batch& batch, const GradScaling& scaling) override;
};

}  // namespace bp::optim
