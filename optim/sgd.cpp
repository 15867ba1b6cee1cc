#include <unordered_set>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/operators.hpp>
#include <backplane/optim/sgd.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::optim {

// What one call takes a step with.
struct SGD::Batch {
  Device device;
  Dtype dtype;
  bool is_first_step;
  std::vector<std::size_t> places;
  std::vector<Tensor> parameters, gradients, velocities;
};

SGD::Batch& SGD::batch_for(std::vector<Batch>& batches, const Tensor& parameter,
                           bool is_first_step) {
  for (Batch& each : batches)
    if (each.device == parameter.device() && each.dtype == parameter.dtype() &&
        each.is_first_step == is_first_step)
      return each;
  Batch& made = batches.emplace_back();
  made.device = parameter.device();
  made.dtype = parameter.dtype();
  made.is_first_step = is_first_step;
  return made;
}

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

void SGD::step(const GradScaling& scaling) {
  const NoGrad no_grad;
  std::vector<Batch> batches;
  std::vector<std::size_t> alone;
  std::unordered_set<const Storage*> taken;
  for (std::size_t i = 0; i < parameters().size(); ++i) {
    const Tensor& parameter = parameters()[i];
    const Tensor gradient = grad(parameter);
    if (!gradient.defined()) continue;
    // The row takes real numbers, and writes each piece of memory once.
    if (!is_floating(parameter.dtype()) || !taken.insert(parameter.impl()->storage).second) {
      alone.push_back(i);
      continue;
    }
    const bool has_momentum = options.momentum != 0;
    Tensor velocity = velocities_[i];
    const bool is_first_step = has_momentum && !velocity.defined();
    // A step that is skipped leaves what it would have filled.
    if (is_first_step)
      velocity = scaling.found_inf.defined() ? zeros_like(parameter) : empty_like(parameter);
    if (has_momentum) follow(velocity, parameter);
    Batch& batch = batch_for(batches, parameter, is_first_step);
    batch.places.push_back(i);
    batch.parameters.push_back(parameter);
    batch.gradients.push_back(gradient);
    if (has_momentum) batch.velocities.push_back(velocity);
  }
  for (const Batch& each : batches) step_together(each, scaling);
  BP_CHECK(
      alone.empty() || !scaling.found_inf.defined(),
      "SGD: parameter {} is {} or shares its memory; steps with a GradScaler take real numbers",
      alone[0], name(parameters()[alone[0]].dtype()));
  for (const std::size_t i : alone)
    sub_(parameters()[i], direction(parameters()[i], grad(parameters()[i]), velocities_[i]),
         options.lr);
}

void SGD::step_together(const Batch& batch, const GradScaling& scaling) {
  _fused_sgd_(batch.parameters, batch.gradients, batch.velocities, options.weight_decay,
              options.momentum, options.lr, options.dampening, options.nesterov, false,
              batch.is_first_step, scaling.grad_scale, scaling.found_inf);
  for (std::size_t k = 0; k < batch.velocities.size(); ++k)
    velocities_[batch.places[k]] = batch.velocities[k];
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
