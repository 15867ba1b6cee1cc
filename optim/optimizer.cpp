#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/optim/optimizer.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::optim {

Optimizer::Optimizer(std::vector<Tensor> parameters) : parameters_(std::move(parameters)) {
  BP_CHECK(!parameters_.empty(), "an optimizer got no parameters; pass model.parameters()");
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    BP_CHECK(
        parameters_[i].defined() && requires_grad(parameters_[i]) && is_leaf(parameters_[i]),
        "parameter {} of an optimizer is no leaf that wants its gradient; use set_requires_grad",
        i);
}

void Optimizer::follow(Tensor& kept, const Tensor& parameter) {
  if (kept.device() == parameter.device() && kept.dtype() == parameter.dtype()) return;
  kept = to(kept, parameter.device(), parameter.dtype());
}

void Optimizer::zero_grad() {
  for (const Tensor& parameter : parameters_)
    if (requires_grad(parameter)) set_grad(parameter, {});  // it may be frozen by now
}

}  // namespace bp::optim
