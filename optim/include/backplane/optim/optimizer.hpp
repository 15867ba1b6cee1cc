// What takes parameters a step down their gradients. It holds the tensors themselves, and goes on with them after their
// module was moved.
#pragma once

#include <vector>

#include <backplane/tensor/tensor.hpp>

namespace bp::optim {

// What a scaler of losses hands to a step. Each is undefined, or one floating-point number on any device.
struct GradScaling {
  Tensor grad_scale;  // gradients are divided by it
  Tensor found_inf;   // where it is 1, the step changes nothing
};

class BP_API Optimizer {
 public:
  // Throws bad_argument for none, and for one that does not require grad.
  explicit Optimizer(std::vector<Tensor> parameters);
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Writes the parameters in place. One without a gradient stays as it is. Not recorded.
  void step() { step(GradScaling()); }
  // The same of scaled gradients, which stay as they are.
  virtual void step(const GradScaling& scaling) = 0;
  // Forgets the gradients of all parameters.
  void zero_grad();
  const std::vector<Tensor>& parameters() const { return parameters_; }

 protected:
  // What is kept of a parameter (a velocity) follows it to where Module::to has moved it since: same device and dtype.
  static void follow(Tensor& kept, const Tensor& parameter);

 private:
  std::vector<Tensor> parameters_;
};

}  // namespace bp::optim
