#include <algorithm>
#include <cmath>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/optim/adaptive.hpp>
#include <backplane/tensor/check.hpp>

#include "lists.hpp"

namespace bp::optim {
namespace {

// A number for each part of a complex parameter too.
Tensor full_of(const Tensor& parameter, double value) {
  if (!is_complex(parameter.dtype())) return full_like(parameter, value);
  const Tensor made = zeros_like(parameter);
  fill_(view_as_real(made), value);
  return made;
}

double largest_number(Dtype dtype) {
  return dtype == f64   ? 0x1.fffffffffffffp1023
         : dtype == f32 ? 0x1.fffffep127
         : dtype == f16 ? 65504
                        : 0x1.fep127;
}

}  // namespace

void Adagrad::check_options(const AdagradOptions& options) const {
  check_not_negative("Adagrad", "lr", options.lr);
  check_not_negative("Adagrad", "lr_decay", options.lr_decay);
  check_not_negative("Adagrad", "weight_decay", options.weight_decay);
  check_not_negative("Adagrad", "initial_accumulator_value", options.initial_accumulator_value);
  check_not_negative("Adagrad", "eps", options.eps);
}

Fields Adagrad::fields(std::size_t group) const {
  auto& o = const_cast<AdagradOptions&>(options(group));
  return Fields("Adagrad")
      .add("lr", o.lr)
      .add("lr_decay", o.lr_decay)
      .add("eps", o.eps)
      .add("weight_decay", o.weight_decay)
      .add("initial_accumulator_value", o.initial_accumulator_value)
      .add("maximize", o.maximize);
}

const Optimizer::Layout& Adagrad::layout() const {
  static const Layout names{{"sum"}, {}, /*counts_on_device=*/true};
  return names;
}

Tensor Adagrad::initial_tensor(std::size_t group, std::size_t, const Tensor& parameter) const {
  return full_of(parameter, options(group).initial_accumulator_value);
}

void Adagrad::update(std::size_t group, Batch& batch, const GradScaling& scaling) {
  const AdagradOptions& o = options(group);
  _fused_adagrad_(batch.params, batch.grads, batch.states[0], advance_counts(batch, scaling), o.lr,
                  o.lr_decay, o.weight_decay, o.eps, o.maximize, scaling.grad_scale,
                  scaling.found_inf);
}

void Adadelta::check_options(const AdadeltaOptions& options) const {
  check_not_negative("Adadelta", "lr", options.lr);
  check_not_negative("Adadelta", "eps", options.eps);
  check_not_negative("Adadelta", "weight_decay", options.weight_decay);
  BP_CHECK(options.rho >= 0 && options.rho <= 1, "Adadelta: rho is {}; it must be from 0 to 1",
           options.rho);
}

Fields Adadelta::fields(std::size_t group) const {
  auto& o = const_cast<AdadeltaOptions&>(options(group));
  return Fields("Adadelta")
      .add("lr", o.lr)
      .add("rho", o.rho)
      .add("eps", o.eps)
      .add("weight_decay", o.weight_decay)
      .add("maximize", o.maximize);
}

const Optimizer::Layout& Adadelta::layout() const {
  static const Layout names{{"square_avg", "acc_delta"}, {"step"}};
  return names;
}

void Adadelta::update(std::size_t group, Batch& batch, const GradScaling&) {
  const AdadeltaOptions& o = options(group);
  batch.numbers[0] += 1;
  const Tensors grads = directed(batch, o.maximize, o.weight_decay);
  add_squares(batch.states[0], grads, o.rho);
  const Tensors root = _foreach_add(batch.states[0], o.eps);
  _foreach_sqrt_(root);
  const Tensors delta = _foreach_add(batch.states[1], o.eps);
  _foreach_sqrt_(delta);
  _foreach_div_(delta, root);
  _foreach_mul_(delta, grads);
  add_squares(batch.states[1], delta, o.rho);
  _foreach_add_(batch.params, delta, -o.lr);
}

void RMSprop::check_options(const RMSpropOptions& options) const {
  check_not_negative("RMSprop", "lr", options.lr);
  check_not_negative("RMSprop", "alpha", options.alpha);
  check_not_negative("RMSprop", "eps", options.eps);
  check_not_negative("RMSprop", "weight_decay", options.weight_decay);
  check_not_negative("RMSprop", "momentum", options.momentum);
}

Fields RMSprop::fields(std::size_t group) const {
  auto& o = const_cast<RMSpropOptions&>(options(group));
  return Fields("RMSprop")
      .add("lr", o.lr)
      .add("momentum", o.momentum)
      .add("alpha", o.alpha)
      .add("eps", o.eps)
      .add("centered", o.centered)
      .add("weight_decay", o.weight_decay)
      .add("maximize", o.maximize);
}

const Optimizer::Layout& RMSprop::layout() const {
  static const Layout names{{"square_avg", "momentum_buffer", "grad_avg"}, {"step"}};
  return names;
}

bool RMSprop::needs(std::size_t group, std::size_t place) const {
  const RMSpropOptions& o = options(group);
  return place == 0 || (place == 1 ? o.momentum > 0 : o.centered);
}

void RMSprop::update(std::size_t group, Batch& batch, const GradScaling&) {
  const RMSpropOptions& o = options(group);
  batch.numbers[0] += 1;
  const Tensors grads = directed(batch, o.maximize, o.weight_decay);
  const Tensors &squares = batch.states[0], &velocities = batch.states[1], &means = batch.states[2];
  add_squares(squares, grads, o.alpha);
  Tensors root;
  if (o.centered) {
    _foreach_lerp_(means, grads, 1 - o.alpha);
    root = _foreach_addcmul(squares, means, means, -1);
    _foreach_sqrt_(root);
  } else {
    root = _foreach_sqrt(squares);
  }
  _foreach_add_(root, o.eps);
  if (o.momentum > 0) {
    _foreach_mul_(velocities, o.momentum);
    _foreach_addcdiv_(velocities, grads, root);
    _foreach_add_(batch.params, velocities, -o.lr);
  } else {
    _foreach_addcdiv_(batch.params, grads, root, -o.lr);
  }
}

void Rprop::check_options(const RpropOptions& options) const {
  check_not_negative("Rprop", "lr", options.lr);
  check_not_negative("Rprop", "step_sizes[0]", options.step_sizes[0]);
  check_not_negative("Rprop", "step_sizes[1]", options.step_sizes[1]);
  BP_CHECK(0 < options.etas[0] && options.etas[0] < 1 && 1 < options.etas[1],
           "Rprop: etas are {} and {}; the first must be between 0 and 1, the second above 1",
           options.etas[0], options.etas[1]);
}

Fields Rprop::fields(std::size_t group) const {
  auto& o = const_cast<RpropOptions&>(options(group));
  return Fields("Rprop")
      .add("lr", o.lr)
      .add("etas", o.etas)
      .add("step_sizes", o.step_sizes)
      .add("maximize", o.maximize);
}

const Optimizer::Layout& Rprop::layout() const {
  static const Layout names{{"prev", "step_size"}, {"step"}};
  return names;
}

Tensor Rprop::initial_tensor(std::size_t group, std::size_t place, const Tensor& parameter) const {
  return full_of(parameter, place == 0 ? 0 : options(group).lr);
}

void Rprop::update(std::size_t group, Batch& batch, const GradScaling&) {
  const RpropOptions& o = options(group);
  batch.numbers[0] += 1;
  const Tensors &before = batch.states[0], &sizes = batch.states[1];
  // An infinite gradient has a sign too; times 0 it would be NaN.
  const double largest = largest_number(batch.params[0].dtype());
  Tensors grads =
      _foreach_maximum(_foreach_minimum(directed(batch, o.maximize), largest), -largest);
  const Tensors signs = _foreach_sign(_foreach_mul(grads, before));
  const Tensors stays = _foreach_maximum(signs, 0), turns = _foreach_minimum(signs, 0);  // 1; -1
  Tensors factors = _foreach_mul(stays, o.etas[1] - 1);
  _foreach_add_(factors, turns, 1 - o.etas[0]);
  _foreach_add_(factors, 1);
  _foreach_mul_(sizes, factors);
  assign(sizes, _foreach_minimum(_foreach_maximum(sizes, o.step_sizes[0]), o.step_sizes[1]));
  // Where the sign has turned, nothing moves, and the next step starts afresh.
  grads = _foreach_addcmul(grads, grads, turns);
  _foreach_addcmul_(batch.params, _foreach_sign(grads), sizes, -1);
  assign(before, grads);
}

void ASGD::check_options(const ASGDOptions& options) const {
  check_not_negative("ASGD", "lr", options.lr);
  check_not_negative("ASGD", "lambd", options.lambd);
  check_not_negative("ASGD", "alpha", options.alpha);
  check_not_negative("ASGD", "weight_decay", options.weight_decay);
  check_not_negative("ASGD", "t0", options.t0);
}

Fields ASGD::fields(std::size_t group) const {
  auto& o = const_cast<ASGDOptions&>(options(group));
  return Fields("ASGD")
      .add("lr", o.lr)
      .add("lambd", o.lambd)
      .add("alpha", o.alpha)
      .add("t0", o.t0)
      .add("weight_decay", o.weight_decay)
      .add("maximize", o.maximize);
}

const Optimizer::Layout& ASGD::layout() const {
  static const Layout names{{"ax"}, {"step", "eta", "mu"}};
  return names;
}

double ASGD::initial_number(std::size_t group, std::size_t place) const {
  return place == 0 ? 0 : place == 1 ? options(group).lr : 1;
}

void ASGD::update(std::size_t group, Batch& batch, const GradScaling&) {
  const ASGDOptions& o = options(group);
  double &step = batch.numbers[0], &eta = batch.numbers[1], &mu = batch.numbers[2];
  step += 1;
  const Tensors grads = directed(batch, o.maximize, o.weight_decay);
  _foreach_mul_(batch.params, 1 - o.lambd * eta);
  _foreach_add_(batch.params, grads, -eta);
  if (mu == 1)
    assign(batch.states[0], batch.params);
  else
    _foreach_lerp_(batch.states[0], batch.params, mu);
  eta = o.lr / std::pow(1 + o.lambd * o.lr * step, o.alpha);
  mu = 1 / std::max(1.0, step - o.t0);
}

}  // namespace bp::optim
