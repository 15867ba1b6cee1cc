#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/operators.hpp>
#include <backplane/optim/sgd.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::optim {

SGD::SGD(std::vector<Tensor> parameters, const SGDOptions& given)
    : Optimizer(std::move(parameters)), options(given), velocities_(this->parameters().size()) {
  check_options();
}

void SGD::check_options() const {
  const auto check = [](const char* name, double value) {
    BP_CHECK(value >= 0, "SGD: {} is {}; it must not be negative", name, value);
  };
  check("lr", options.lr);
  check("momentum", options.momentum);
  check("weight_decay", options.weight_decay);
  BP_CHECK(!options.nesterov || (options.momentum > 0 && options.dampening == 0),
           "SGD: nesterov needs a momentum above 0 and no dampening, got {} and {}",
           options.momentum, options.dampening);
}

void SGD::step() {
  const NoGrad no_grad;
  for (std::size_t i = 0; i < parameters().size(); ++i) {
    const Tensor& parameter = parameters()[i];
    Tensor gradient = grad(parameter);
    if (!gradient.defined()) continue;
    sub_(parameter, direction(parameter, std::move(gradient), velocities_[i]), options.lr);
  }
}

Tensor SGD::direction(const Tensor& parameter, Tensor gradient, Tensor& velocity) const {
  if (options.weight_decay != 0) gradient = add(gradient, parameter, options.weight_decay);
  if (options.momentum == 0) return gradient;
  if (!velocity.defined()) {
    velocity = copy(gradient);
  } else {
    follow(velocity, parameter);
    mul_(velocity, options.momentum);
    add_(velocity, gradient, 1 - options.dampening);
  }
  return options.nesterov ? add(gradient, velocity, options.momentum) : velocity;
}

}  // namespace bp::optim
