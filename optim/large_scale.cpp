#include <algorithm>
#include <cmath>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/operators.hpp>
#include <backplane/optim/large_scale.hpp>
#include <backplane/tensor/check.hpp>

#include "lists.hpp"

namespace bp::optim {
namespace {

// Each tensor's norm, in a vector.
Tensor norms_of(const Tensors& tensors) {
  return stack(_foreach_norm(tensors));
}

// From the square sums of rows to what has spectral norms near 1, for each matrix of a stack.
Tensor orthogonal(const Tensor& matrices, const MuonOptions& o) {
  const bool is_tall = matrices.size(1) > matrices.size(2);
  Tensor x = to(matrices, o.ns_dtype);
  if (is_tall) x = contiguous(transpose(x, 1, 2));
  x = x / clamp_min(norm(x, 2, {1, 2}, true), o.eps);
  for (std::int64_t i = 0; i < o.ns_steps; ++i) {
    const Tensor gram = bmm(x, transpose(x, 1, 2));
    const Tensor change = baddbmm(gram, gram, gram, o.ns_coefficients[1], o.ns_coefficients[2]);
    x = baddbmm(x, change, x, o.ns_coefficients[0]);
  }
  return to(is_tall ? transpose(x, 1, 2) : x, matrices.dtype());
}

double rate_for(const MuonOptions& o, IntList shape) {
  const auto rows = static_cast<double>(shape[0]), columns = static_cast<double>(shape[1]);
  if (o.adjust_lr_fn == "match_rms_adamw") return o.lr * 0.2 * std::sqrt(std::max(rows, columns));
  if (o.adjust_lr_fn == "spectral_unclamped") return o.lr * std::sqrt(rows / columns);
  return o.lr * std::sqrt(std::max(1.0, rows / columns));
}

double machine_epsilon(Dtype dtype) {
  return dtype == f64 ? 0x1p-52 : dtype == f32 ? 0x1p-23 : dtype == f16 ? 0x1p-10 : 0x1p-7;
}

// For each tensor of a stack, the root of the mean of its squares, as [n, 1, ..., 1].
Tensor root_mean_squares(const Tensor& stacked) {
  const std::int64_t count = stacked.size(0);
  Dims shape(static_cast<std::uint32_t>(stacked.ndim()), 1);
  shape[0] = count;
  return reshape(sqrt(mean(square(reshape(stacked, {count, -1})), 1)), shape);
}

// Writes a stack's tensors over those of a list.
void assign_stack(const Tensors& targets, const Tensor& stacked) {
  assign(targets, unbind(stacked));
}

}  // namespace

void Lion::check_options(const LionOptions& options) const {
  check_not_negative("Lion", "lr", options.lr);
  check_not_negative("Lion", "weight_decay", options.weight_decay);
  check_betas("Lion", options.betas);
}

Fields Lion::fields(std::size_t group) const {
  auto& o = const_cast<LionOptions&>(options(group));
  return Fields("Lion")
      .add("lr", o.lr)
      .add("betas", o.betas)
      .add("weight_decay", o.weight_decay)
      .add("maximize", o.maximize);
}

const Optimizer::Layout& Lion::layout() const {
  static const Layout names{{"exp_avg"}, {}};
  return names;
}

void Lion::update(std::size_t group, Batch& batch, const GradScaling&) {
  const LionOptions& o = options(group);
  const Tensors grads = directed(batch, o.maximize);
  decay(batch.params, o.lr, o.weight_decay);
  const Tensors directions = _foreach_sign(_foreach_lerp(batch.states[0], grads, 1 - o.betas[0]));
  _foreach_add_(batch.params, directions, -o.lr);
  _foreach_lerp_(batch.states[0], grads, 1 - o.betas[1]);
}

void LAMB::check_options(const LAMBOptions& options) const {
  check_not_negative("LAMB", "lr", options.lr);
  check_not_negative("LAMB", "eps", options.eps);
  check_not_negative("LAMB", "weight_decay", options.weight_decay);
  check_betas("LAMB", options.betas);
}

Fields LAMB::fields(std::size_t group) const {
  auto& o = const_cast<LAMBOptions&>(options(group));
  return Fields("LAMB")
      .add("lr", o.lr)
      .add("betas", o.betas)
      .add("eps", o.eps)
      .add("weight_decay", o.weight_decay)
      .add("maximize", o.maximize);
}

const Optimizer::Layout& LAMB::layout() const {
  static const Layout names{{"exp_avg", "exp_avg_sq"}, {"step"}};
  return names;
}

void LAMB::update(std::size_t group, Batch& batch, const GradScaling&) {
  const LAMBOptions& o = options(group);
  const double step = batch.numbers[0] += 1;
  const Tensors grads = directed(batch, o.maximize);
  _foreach_lerp_(batch.states[0], grads, 1 - o.betas[0]);
  add_squares(batch.states[1], grads, o.betas[1]);
  const Tensors root = _foreach_div(batch.states[1], 1 - std::pow(o.betas[1], step));
  _foreach_sqrt_(root);
  _foreach_add_(root, o.eps);
  const Tensors change = _foreach_div(batch.states[0], 1 - std::pow(o.betas[0], step));
  _foreach_div_(change, root);
  if (o.weight_decay != 0) _foreach_add_(change, batch.params, o.weight_decay);

  const Tensor own = norms_of(batch.params), of_change = norms_of(change);
  const Tensor ratio = where(logical_and(own > 0, of_change > 0), own / of_change, 1.0);
  _foreach_mul_(change, unbind(to(ratio, batch.params[0].dtype())));
  _foreach_add_(batch.params, change, -o.lr);
}

void Muon::check_options(const MuonOptions& options) const {
  check_not_negative("Muon", "lr", options.lr);
  check_not_negative("Muon", "momentum", options.momentum);
  check_not_negative("Muon", "eps", options.eps);
  check_not_negative("Muon", "weight_decay", options.weight_decay);
  BP_CHECK(options.ns_steps >= 0 && options.ns_steps < 100,
           "Muon: ns_steps is {}; it must be from 0 to 99", options.ns_steps);
  const std::string& name = options.adjust_lr_fn;
  BP_CHECK(name.empty() || name == "original" || name == "match_rms_adamw" ||
               name == "spectral_unclamped",
           "Muon: adjust_lr_fn is '{}'; it must be 'original', 'match_rms_adamw' or "
           "'spectral_unclamped'",
           name);
  BP_CHECK(is_floating(options.ns_dtype), "Muon: ns_dtype is {}; it must be floating-point",
           bp::name(options.ns_dtype));
}

void Muon::check_parameter(std::size_t index, const Tensor& parameter) const {
  BP_CHECK(parameter.ndim() == 2 && is_floating(parameter.dtype()),
           "Muon: parameter {} is {} of shape {}; pass real matrices, and the others to AdamW",
           index, bp::name(parameter.dtype()), to_string(parameter.shape()));
}

Fields Muon::fields(std::size_t group) const {
  auto& o = const_cast<MuonOptions&>(options(group));
  return Fields("Muon")
      .add("lr", o.lr)
      .add("weight_decay", o.weight_decay)
      .add("momentum", o.momentum)
      .add("nesterov", o.nesterov)
      .add("ns_coefficients", o.ns_coefficients)
      .add("eps", o.eps)
      .add("ns_steps", o.ns_steps)
      .add("adjust_lr_fn", o.adjust_lr_fn);
}

const Optimizer::Layout& Muon::layout() const {
  static const Layout names{{"momentum_buffer"}, {}};
  return names;
}

void Muon::update(std::size_t group, Batch& batch, const GradScaling&) {
  const MuonOptions& o = options(group);
  const Tensors& means = batch.states[0];
  _foreach_lerp_(means, batch.grads, 1 - o.momentum);
  const Tensors updates = o.nesterov ? _foreach_lerp(batch.grads, means, o.momentum) : means;
  decay(batch.params, o.lr, o.weight_decay);
  for (const auto& places : places_by_shape(batch.params)) {
    const Tensors params = at_places(batch.params, places);
    if (params[0].numel() == 0) continue;
    const Tensor change = orthogonal(stack(at_places(updates, places)), o);
    _foreach_add_(params, unbind(change), -rate_for(o, params[0].shape()));
  }
}

void Adafactor::check_options(const AdafactorOptions& options) const {
  check_not_negative("Adafactor", "lr", options.lr);
  check_not_negative("Adafactor", "weight_decay", options.weight_decay);
  check_not_negative("Adafactor", "eps[0]", options.eps.first.value_or(0));
  check_not_negative("Adafactor", "eps[1]", options.eps.second);
  BP_CHECK(options.beta2_decay <= 0, "Adafactor: beta2_decay is {}; it must not be above 0",
           options.beta2_decay);
  BP_CHECK(options.d >= 1, "Adafactor: d is {}; it must be at least 1", options.d);
}

void Adafactor::check_parameter(std::size_t index, const Tensor& parameter) const {
  BP_CHECK(!is_complex(parameter.dtype()),
           "Adafactor: parameter {} is {}; pass real ones, and the others to Adam", index,
           bp::name(parameter.dtype()));
}

Fields Adafactor::fields(std::size_t group) const {
  auto& o = const_cast<AdafactorOptions&>(options(group));
  return Fields("Adafactor")
      .add("lr", o.lr)
      .add("beta2_decay", o.beta2_decay)
      .add("eps", o.eps)
      .add("d", o.d)
      .add("weight_decay", o.weight_decay)
      .add("maximize", o.maximize);
}

const Optimizer::Layout& Adafactor::layout() const {
  static const Layout names{{"row_var", "col_var", "variance"}, {"step"}};
  return names;
}

Dims Adafactor::kept_shape(std::size_t place, const Tensor& parameter) const {
  Dims shape = parameter.shape();
  const auto rank = static_cast<std::size_t>(parameter.ndim());
  if (place == 0 && rank > 1) shape[rank - 1] = 1;
  if (place == 1 && rank > 1) shape[rank - 2] = 1;
  return shape;
}

bool Adafactor::is_kept(std::size_t place, const Tensor& parameter) const {
  return (place == 2) != (parameter.ndim() > 1);
}

Tensor Adafactor::initial_tensor(std::size_t, std::size_t place, const Tensor& parameter) const {
  return full(kept_shape(place, parameter), 0, parameter.dtype(), parameter.device());
}

void Adafactor::update(std::size_t group, Batch& batch, const GradScaling&) {
  const AdafactorOptions& o = options(group);
  const double step = batch.numbers[0] += 1;
  const double fresh = std::pow(step, o.beta2_decay), rate = std::min(o.lr, 1 / std::sqrt(step));
  const double eps = o.eps.first.value_or(machine_epsilon(batch.params[0].dtype()));
  const Tensors grads = directed(batch, o.maximize);
  for (const auto& places : places_by_shape(batch.params)) {
    const Tensors params = at_places(batch.params, places);
    if (params[0].numel() == 0) continue;
    const Tensor stacked = stack(at_places(grads, places));
    const Tensor scale = clamp_min(root_mean_squares(stack(params)), o.eps.second) * rate;
    const auto follow_mean = [&](std::size_t place, const Tensor& now) {
      const Tensors kept = at_places(batch.states[place], places);
      const Tensor fresh_mean = lerp(stack(kept), now, fresh);
      assign_stack(kept, fresh_mean);
      return fresh_mean;
    };
    const Tensor squares = square(stacked);
    Tensor estimate;
    if (params[0].ndim() > 1) {
      const Tensor rows = follow_mean(0, mean(squares, -1, true));
      const Tensor columns = follow_mean(1, mean(squares, -2, true));
      estimate = mul(rows, columns) / clamp_min(mean(rows, -2, true), eps);
    } else {
      estimate = follow_mean(2, squares);
    }
    const Tensor update = rsqrt(clamp_min(estimate, eps * eps)) * stacked;
    const Tensor denominator = clamp_min(root_mean_squares(update) / o.d, 1.0);
    const Tensors changes = unbind(update * (scale / denominator));
    decay(params, o.lr, o.weight_decay);
    _foreach_add_(params, changes, -1);
  }
}

}  // namespace bp::optim
