// Stochastic gradient descent with momentum.
#pragma once

#include <backplane/optim/optimizer.hpp>

namespace bp::optim {

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool maximize = false;
};

// As PyTorch's: with g the gradient plus weight_decay times the parameter, and v the velocity, g itself at first,
// v = momentum * v + (1 - dampening) * g and parameter -= lr * v (nesterov: lr * (g + momentum * v)).
// `maximize` negates the gradient. (Sutskever et al., 2013, for the momentum.)
class BP_API SGD : public OptimizerOf<SGDOptions> {
 public:
  // Throws bad_argument for negative options, and for nesterov without momentum or with dampening.
  BP_OPTIMIZER(SGD)
  bool takes_scaling() const override { return true; }

 protected:
  void check_options(const SGDOptions& options) const override;
  std::vector<State::Entry> switches() const override {
    return {{"foreach", {}}, {"differentiable", false}, {"fused", {}}};
  }
  Fields fields(std::size_t group) const override;
  const Layout& layout() const override;
  bool needs(std::size_t group, std::size_t place) const override;
  Tensor initial_tensor(std::size_t group, std::size_t place,
                        const Tensor& parameter) const override;
  void update(std::size_t group, Batch& batch, const GradScaling& scaling) override;
};

}  // namespace bp::optim
