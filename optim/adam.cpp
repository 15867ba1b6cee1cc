#include <cmath>

#include <backplane/core_ops/generated/all.hpp>
#include <backplane/optim/adam.hpp>
#include <backplane/tensor/check.hpp>

#include "lists.hpp"

namespace bp::optim {
namespace {

constexpr std::size_t max_exp_avg_sq = 2;  // of Adam's layout

template <class Options> void check_adam(const char* name, const Options& options) {
  check_not_negative(name, "lr", options.lr);
  check_not_negative(name, "eps", options.eps);
  check_not_negative(name, "weight_decay", options.weight_decay);
  check_betas(name, options.betas);
}

template <class Options> Fields adam_fields(const char* name, Options& o) {
  return Fields(name)
      .add("lr", o.lr)
      .add("betas", o.betas)
      .add("eps", o.eps)
      .add("weight_decay", o.weight_decay)
      .add("maximize", o.maximize);
}

// By one row or the other.
template <auto row, class Options>
void run_adam(const Options& o, Batch& batch, const Tensors& steps, const GradScaling& scaling) {
  row(batch.params, batch.grads, batch.states[0], batch.states[1], batch.states[max_exp_avg_sq],
      steps, o.lr, o.betas[0], o.betas[1], o.weight_decay, o.eps, o.amsgrad, o.maximize,
      scaling.grad_scale, scaling.found_inf);
}

// The decay that is not part of the gradient comes before all else.
template <class Options> Tensors decayed_gradients(const Options& o, const Batch& batch) {
  if (!o.decoupled_weight_decay) return directed(batch, o.maximize, o.weight_decay);
  decay(batch.params, o.lr, o.weight_decay);
  return directed(batch, o.maximize);
}

}  // namespace

void Adam::check_options(const AdamOptions& options) const {
  check_adam("Adam", options);
}

std::vector<State::Entry> Adam::switches() const {
  return {{"foreach", {}}, {"capturable", false}, {"differentiable", false}, {"fused", {}}};
}

Fields Adam::fields(std::size_t group) const {
  auto& o = const_cast<AdamOptions&>(options(group));
  return adam_fields("Adam", o)
      .add("amsgrad", o.amsgrad)
      .add("decoupled_weight_decay", o.decoupled_weight_decay);
}

const Optimizer::Layout& Adam::layout() const {
  static const Layout names{
      {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}, {}, /*counts_on_device=*/true};
  return names;
}

bool Adam::needs(std::size_t group, std::size_t place) const {
  return place != max_exp_avg_sq || options(group).amsgrad;
}

void Adam::update(std::size_t group, Batch& batch, const GradScaling& scaling) {
  const AdamOptions& o = options(group);
  const Tensors steps = advance_counts(batch, scaling);
  if (o.decoupled_weight_decay)
    run_adam<_fused_adamw_>(o, batch, steps, scaling);
  else
    run_adam<_fused_adam_>(o, batch, steps, scaling);
}

void AdamW::check_options(const AdamWOptions& options) const {
  check_adam("AdamW", options);
}

// PyTorch's AdamW is its Adam with the last of these on.
std::vector<State::Entry> AdamW::switches() const {
  return {{"foreach", {}},
          {"capturable", false},
          {"differentiable", false},
          {"fused", {}},
          {"decoupled_weight_decay", true}};
}

Fields AdamW::fields(std::size_t group) const {
  auto& o = const_cast<AdamWOptions&>(options(group));
  return adam_fields("AdamW", o).add("amsgrad", o.amsgrad);
}

const Optimizer::Layout& AdamW::layout() const {
  static const Layout names{
      {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}, {}, /*counts_on_device=*/true};
  return names;
}

bool AdamW::needs(std::size_t group, std::size_t place) const {
  return place != max_exp_avg_sq || options(group).amsgrad;
}

void AdamW::update(std::size_t group, Batch& batch, const GradScaling& scaling) {
  const Tensors steps = advance_counts(batch, scaling);
  run_adam<_fused_adamw_>(options(group), batch, steps, scaling);
}

void NAdam::check_options(const NAdamOptions& options) const {
  check_adam("NAdam", options);
  check_not_negative("NAdam", "momentum_decay", options.momentum_decay);
}

Fields NAdam::fields(std::size_t group) const {
  auto& o = const_cast<NAdamOptions&>(options(group));
  return adam_fields("NAdam", o)
      .add("momentum_decay", o.momentum_decay)
      .add("decoupled_weight_decay", o.decoupled_weight_decay);
}

const Optimizer::Layout& NAdam::layout() const {
  static const Layout names{{"exp_avg", "exp_avg_sq"}, {"step", "mu_product"}};
  return names;
}

double NAdam::initial_number(std::size_t, std::size_t place) const {
  return place == 0 ? 0 : 1;
}

void NAdam::update(std::size_t group, Batch& batch, const GradScaling&) {
  const NAdamOptions& o = options(group);
  const double step = batch.numbers[0] += 1;
  const auto momentum_at = [&](double at) {
    return o.betas[0] * (1 - 0.5 * std::pow(0.96, at * o.momentum_decay));
  };
  const double now = momentum_at(step), next = momentum_at(step + 1);
  const double product = batch.numbers[1] *= now;

  const Tensors grads = decayed_gradients(o, batch);
  _foreach_lerp_(batch.states[0], grads, 1 - o.betas[0]);
  add_squares(batch.states[1], grads, o.betas[1]);
  const Tensors root = _foreach_div(batch.states[1], 1 - std::pow(o.betas[1], step));
  _foreach_sqrt_(root);
  _foreach_add_(root, o.eps);
  _foreach_addcdiv_(batch.params, grads, root, -o.lr * (1 - now) / (1 - product));
  _foreach_addcdiv_(batch.params, batch.states[0], root, -o.lr * next / (1 - product * next));
}

void RAdam::check_options(const RAdamOptions& options) const {
  check_adam("RAdam", options);
}

Fields RAdam::fields(std::size_t group) const {
  auto& o = const_cast<RAdamOptions&>(options(group));
  return adam_fields("RAdam", o).add("decoupled_weight_decay", o.decoupled_weight_decay);
}

const Optimizer::Layout& RAdam::layout() const {
  static const Layout names{{"exp_avg", "exp_avg_sq"}, {"step"}};
  return names;
}

void RAdam::update(std::size_t group, Batch& batch, const GradScaling&) {
  const RAdamOptions& o = options(group);
  const double step = batch.numbers[0] += 1;
  const double bias1 = 1 - std::pow(o.betas[0], step), bias2 = 1 - std::pow(o.betas[1], step);
  const double longest = 2 / (1 - o.betas[1]) - 1;
  const double length = longest - 2 * step * std::pow(o.betas[1], step) / bias2;

  const Tensors grads = decayed_gradients(o, batch);
  _foreach_lerp_(batch.states[0], grads, 1 - o.betas[0]);
  add_squares(batch.states[1], grads, o.betas[1]);
  if (length <= 5) {  // too few squares to divide by
    _foreach_add_(batch.params, batch.states[0], -o.lr / bias1);
    return;
  }
  const double rectified =
      std::sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length));
  const Tensors root = _foreach_sqrt(batch.states[1]);
  _foreach_add_(root, o.eps);
  _foreach_addcdiv_(batch.params, batch.states[0], root,
                    -o.lr / bias1 * std::sqrt(bias2) * rectified);
}

void Adamax::check_options(const AdamaxOptions& options) const {
  check_adam("Adamax", options);
}

Fields Adamax::fields(std::size_t group) const {
  return adam_fields("Adamax", const_cast<AdamaxOptions&>(options(group)));
}

const Optimizer::Layout& Adamax::layout() const {
  static const Layout names{{"exp_avg", "exp_inf"}, {"step"}};
  return names;
}

void Adamax::update(std::size_t group, Batch& batch, const GradScaling&) {
  const AdamaxOptions& o = options(group);
  const double step = batch.numbers[0] += 1;
  const Tensors grads = directed(batch, o.maximize, o.weight_decay);
  _foreach_lerp_(batch.states[0], grads, 1 - o.betas[0]);
  const Tensors sizes = _foreach_abs(grads);
  _foreach_add_(sizes, o.eps);
  _foreach_mul_(batch.states[1], o.betas[1]);
  assign(batch.states[1], _foreach_maximum(batch.states[1], sizes));
  _foreach_addcdiv_(batch.params, batch.states[0], batch.states[1],
                    -o.lr / (1 - std::pow(o.betas[0], step)));
}

}  // namespace bp::optim
