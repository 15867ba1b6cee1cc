#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/optim/sgd.hpp>
#include <backplane/tensor/check.hpp>

#include "lists.hpp"

namespace bp::optim {

void SGD::check_options(const SGDOptions& options) const {
  check_not_negative("SGD", "lr", options.lr);
  check_not_negative("SGD", "momentum", options.momentum);
  check_not_negative("SGD", "weight_decay", options.weight_decay);
  BP_CHECK(!options.nesterov || (options.momentum > 0 && options.dampening == 0),
           "SGD: nesterov needs a momentum above 0 and no dampening, but got {} and {}",
           options.momentum, options.dampening);
}

Fields SGD::fields(std::size_t group) const {
  auto& o = const_cast<SGDOptions&>(options(group));
  return Fields("SGD")
      .add("lr", o.lr)
      .add("momentum", o.momentum)
      .add("dampening", o.dampening)
      .add("weight_decay", o.weight_decay)
      .add("nesterov", o.nesterov)
      .add("maximize", o.maximize);
}

const Optimizer::Layout& SGD::layout() const {
  static const Layout names{{"momentum_buffer"}, {}};
  return names;
}

bool SGD::needs(std::size_t group, std::size_t) const {
  return options(group).momentum != 0;
}

Tensor SGD::initial_tensor(std::size_t, std::size_t, const Tensor& parameter) const {
  return empty_like(parameter);  // which the first step fills
}

void SGD::update(std::size_t group, Batch& batch, const GradScaling& scaling) {
  const SGDOptions& o = options(group);
  const bool is_first_step = o.momentum != 0 && !batch.was_kept[0];
  if (is_first_step && scaling.found_inf.defined()) {
    // With dampening, the first velocity is not what one of 0 would become.
    if (o.dampening != 0 && item<double>(scaling.found_inf) == 1) {
      for (ParamState& next : batch.next) next.tensors[0] = {};
      return;
    }
    _foreach_zero_(batch.states[0]);  // a step that is skipped leaves what it would have filled
  }
  _fused_sgd_(batch.params, batch.grads, batch.states[0], o.weight_decay, o.momentum, o.lr,
              o.dampening, o.nesterov, o.maximize, is_first_step, scaling.grad_scale,
              scaling.found_inf);
}

}  // namespace bp::optim
