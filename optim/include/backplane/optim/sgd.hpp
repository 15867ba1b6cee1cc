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
};

// As PyTorch's: with g the gradient plus weight_decay times the parameter, and v the velocity, g itself at first,
// v = momentum * v + (1 - dampening) * g and parameter -= lr * v (nesterov: lr * (g + momentum * v)).
class BP_API SGD : public Optimizer {
 public:
  // Throws bad_argument for negative options, and for nesterov without momentum or with dampening.
  SGD(std::vector<Tensor> parameters, const SGDOptions& options);
  using Optimizer::step;
  void step(const GradScaling& scaling) override;

  // May be written between steps.
  SGDOptions options;

 private:
  struct Batch;
  static Batch& batch_for(std::vector<Batch>& batches, const Tensor& parameter, bool is_first_step);
  void step_together(const Batch& batch, const GradScaling& scaling);
  Tensor direction(const Tensor& parameter, Tensor gradient, Tensor& velocity) const;
  void check_options() const;

  std::vector<Tensor> velocities_;  // one for each parameter, undefined before its first step
};

}  // namespace bp::optim
