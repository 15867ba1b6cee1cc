#include <algorithm>
#include <unordered_set>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/optim/optimizer.hpp>
#include <backplane/tensor/check.hpp>

#include "lists.hpp"
#include "step_count.hpp"

namespace bp::optim {
namespace {

// For rows that know nothing of scaling.
void divide_gradients(Batch& batch, const Tensor& grad_scale) {
  if (!grad_scale.defined() || batch.grads.empty()) return;
  const Tensor scale =
      reshape(to(grad_scale, batch.grads[0].device(), batch.grads[0].dtype()), IntList{});
  batch.grads = _foreach_div(batch.grads, Tensors(batch.grads.size(), scale));
}

}  // namespace

Optimizer::Optimizer() = default;
Optimizer::~Optimizer() = default;

const Optimizer::Group& Optimizer::at(std::size_t group) const {
  BP_CHECK(group < groups_.size(), "{}: no parameter group {} among {}", type_name(), group,
           groups_.size());
  return groups_[group];
}

Optimizer::Group& Optimizer::at(std::size_t group) {
  return const_cast<Group&>(std::as_const(*this).at(group));
}

void Optimizer::add_group(std::vector<Tensor> params, std::vector<State::Entry> switches) {
  BP_CHECK(!params.empty(), "{} got no parameters; pass model.parameters()", type_name());
  std::unordered_set<const TensorImpl*> taken;
  for (const Group& group : groups_)
    for (const Tensor& each : group.params) taken.insert(each.impl());
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Tensor& each = params[i];
    BP_CHECK(
        each.defined() && is_leaf(each) && (is_floating(each.dtype()) || is_complex(each.dtype())),
        "{}: parameter {} is not a leaf of floating-point or complex numbers; pass what the "
        "model was made with, not what was computed of it",
        type_name(), i);
    BP_CHECK(taken.insert(each.impl()).second,
             "{}: parameter {} is there already; pass each once, in one group", type_name(), i);
    check_parameter(i, each);
  }
  Group& made = groups_.emplace_back();
  made.states.resize(params.size());
  made.params = std::move(params);
  for (auto& [name, value] : switches) made.extras.set(std::move(name), std::move(value));
}

void Optimizer::check_parameter(std::size_t, const Tensor&) const {}

void Optimizer::follow(Tensor& kept, const Tensor& parameter) {
  if (kept.device() == parameter.device() && kept.dtype() == parameter.dtype()) return;
  kept = to(kept, parameter.device(), parameter.dtype());
}

std::vector<Tensor> Optimizer::parameters() const {
  std::vector<Tensor> all;
  for (const Group& group : groups_)
    all.insert(all.end(), group.params.begin(), group.params.end());
  return all;
}

void Optimizer::step() {
  step(GradScaling{});
}

void Optimizer::step(const GradScaling& scaling) {
  call_hooks(true);
  {
    const NoGrad no_grad;
    step_groups(scaling);
  }
  call_hooks(false);
}

Tensor Optimizer::step(const Closure& closure) {
  BP_CHECK(closure, "{}: step got an empty closure; call step() without one", type_name());
  Tensor loss;
  {
    const EnableGrad recorded;
    loss = closure();
  }
  step();
  return loss;
}

void Optimizer::step_groups(const GradScaling& scaling) {
  if (!takes_scaling() && scaling.found_inf.defined() && item<double>(scaling.found_inf) == 1)
    return;
  for (std::size_t group = 0; group < groups_.size(); ++group)
    for (Batch& batch : batches_of(group)) {
      if (!takes_scaling()) divide_gradients(batch, scaling.grad_scale);
      update(group, batch, takes_scaling() ? scaling : GradScaling{});
      for (ParamState* kept : batch.kept) kept->numbers = batch.numbers;
    }
}

void Optimizer::zero_grad(bool set_to_none) {
  const NoGrad no_grad;
  std::vector<std::vector<Tensor>> kept;  // by device and dtype
  for (const Group& group : groups_)
    for (const Tensor& parameter : group.params) {
      if (!requires_grad(parameter)) continue;  // it may be frozen by now
      const Tensor gradient = set_to_none ? Tensor() : grad(parameter);
      if (!gradient.defined()) {
        set_grad(parameter, {});
        continue;
      }
      const Tensor real = is_complex(gradient.dtype()) ? view_as_real(gradient) : gradient;
      const auto alike = std::find_if(kept.begin(), kept.end(), [&](const auto& each) {
        return each[0].device() == real.device() && each[0].dtype() == real.dtype();
      });
      (alike == kept.end() ? kept.emplace_back() : *alike).push_back(real);
    }
  for (const std::vector<Tensor>& each : kept) _foreach_zero_(each);
}

bool Optimizer::has_option(std::size_t group, std::string_view name) const {
  return fields(group).contains(name) || at(group).extras.contains(name);
}

State Optimizer::option(std::size_t group, std::string_view name) const {
  at(group);
  const Fields own = fields(group);
  if (own.contains(name)) return own.read(name);
  const State* extra = at(group).extras.find(name);
  BP_CHECK(extra, "{}: parameter group {} has no option '{}'", type_name(), group, name);
  return *extra;
}

void Optimizer::set_option(std::size_t group, std::string_view name, const State& value) {
  at(group);
  const Fields own = fields(group);
  if (own.contains(name)) return own.write(name, value);
  at(group).extras.set(std::string(name), value);
}

int Optimizer::register_step_pre_hook(Hook hook) {
  hooks_.push_back({next_hook_, true, std::move(hook)});
  return next_hook_++;
}

int Optimizer::register_step_post_hook(Hook hook) {
  hooks_.push_back({next_hook_, false, std::move(hook)});
  return next_hook_++;
}

void Optimizer::remove_hook(int number) {
  std::erase_if(hooks_, [&](const Registered& each) { return each.number == number; });
}

void Optimizer::call_hooks(bool before) {
  if (hooks_.empty()) return;
  const std::vector<Registered> now = hooks_;  // one may remove itself
  for (const Registered& each : now)
    if (each.before == before) each.hook(*this);
}

}  // namespace bp::optim
