#include <atomic>
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

std::atomic<std::uint64_t> next_id{0};

// For rows that know nothing of scaling. 16 bits hold neither most scales nor what is divided by them on the way.
void divide_gradients(Batch& batch, const Tensor& grad_scale) {
  if (!grad_scale.defined()) return;
  const Dtype dtype = batch.grads[0].dtype(), wide = dtype == f64 ? f64 : f32;
  const Tensor scale = to(grad_scale, wide);
  if (wide != dtype)
    for (Tensor& each : batch.grads) each = to(each, wide);
  batch.grads = _foreach_div(batch.grads, Tensors(batch.grads.size(), scale));
  if (wide != dtype)
    for (Tensor& each : batch.grads) each = to(each, dtype);
}

// On the device of what it is of.
Tensor number_on(const Tensor& number, Device device) {
  return number.defined() ? reshape(to(number, device), IntList{}) : number;
}

}  // namespace

Optimizer::Optimizer() : id_(next_id++) {}
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
        "{}: parameter {} is not a leaf of floating-point or complex numbers; pass the model's own "
        "parameters, not what was computed from them",
        type_name(), i);
    BP_CHECK(taken.insert(each.impl()).second,
             "{}: parameter {} was added already; pass each once, in one group", type_name(), i);
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
  if (is_left_out(scaling)) return;
  call_hooks(true);
  {
    const Apart apart;
    step_groups(scaling);
  }
  call_hooks(false);
}

// Is it known, or worth waiting for?
bool Optimizer::is_left_out(const GradScaling& scaling) const {
  if (!scaling.found_inf.defined() || (takes_scaling() && hooks_.empty())) return false;
  const Apart apart;
  return item<double>(scaling.found_inf) == 1;
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

// All that can be refused, and the memory of what is kept, comes before the first write.
void Optimizer::step_groups(const GradScaling& scaling) {
  for (std::size_t group = 0; group < groups_.size(); ++group) check_group(group);
  std::vector<std::vector<Batch>> batches;
  for (std::size_t group = 0; group < groups_.size(); ++group) batches.push_back(batches_of(group));
  for (std::size_t group = 0; group < groups_.size(); ++group)
    for (Batch& batch : batches[group]) take_step(group, batch, scaling);
}

void Optimizer::take_step(std::size_t group, Batch& batch, const GradScaling& scaling) {
  const Device device = batch.params[0].device();
  const GradScaling here{number_on(scaling.grad_scale, device),
                         number_on(scaling.found_inf, device)};
  try {
    if (!takes_scaling()) divide_gradients(batch, here.grad_scale);
    update(group, batch, takes_scaling() ? here : GradScaling{});
  } catch (...) {
    take_back_counts(batch, here);
    throw;
  }
  for (std::size_t i = 0; i < batch.kept.size(); ++i) {
    *batch.kept[i] = std::move(batch.next[i]);
    batch.kept[i]->numbers = batch.numbers;
  }
}

void Optimizer::zero_grad(bool set_to_none) {
  const Apart apart;
  Tensors kept;
  for (const Group& group : groups_)
    for (const Tensor& parameter : group.params) {
      if (!requires_grad(parameter)) continue;  // it may be frozen by now
      Tensor gradient = set_to_none ? Tensor() : grad(parameter);
      // What create_graph has recorded goes on in the tensor that has its record.
      const bool is_recorded = gradient.defined() && requires_grad(gradient);
      if (is_recorded) gradient = detach(gradient);
      if (!gradient.defined() || is_recorded) set_grad(parameter, gradient);
      if (gradient.defined()) kept.push_back(real_parts(gradient));
    }
  for (const Tensors& each : by_device_and_dtype(kept)) _foreach_zero_(each);
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
  if (!own.contains(name)) return at(group).extras.set(std::string(name), value);
  own.load(State::dict({{std::string(name), value}}), [&] { check_group(group); });
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
