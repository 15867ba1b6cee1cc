#include <cmath>
#include <limits>

#include <backplane/amp/autocast.hpp>
#include <backplane/amp/grad_scaler.hpp>
#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/tensor/check.hpp>

#include "gradients.hpp"

namespace bp::amp {
namespace {

constexpr std::int64_t most_successes = std::numeric_limits<std::int32_t>::max() - 1;

void check_growth_factor(double factor) {
  BP_CHECK(factor > 1, "GradScaler: growth_factor is {}; it must be greater than 1", factor);
  BP_CHECK(std::isfinite(factor), "GradScaler: growth_factor is {}; it must be finite", factor);
}
void check_backoff_factor(double factor) {
  BP_CHECK(factor > 0 && factor < 1,
           "GradScaler: backoff_factor is {}; it must lie between 0 and 1", factor);
}
void check_growth_interval(std::int64_t interval) {
  BP_CHECK(interval >= 1, "GradScaler: growth_interval is {}; it must be 1 or more", interval);
  BP_CHECK(interval <= most_successes, "GradScaler: growth_interval is {}; it must be at most {}",
           interval, most_successes);
}
void check_scale(double scale) {
  BP_CHECK(scale > 0 && scale <= std::numeric_limits<float>::max(),
           "GradScaler: the scale is {}; it must be positive and finite in float32", scale);
}

void check_options(const GradScalerOptions& options) {
  check_scale(options.init_scale);
  check_growth_factor(options.growth_factor);
  check_backoff_factor(options.backoff_factor);
  check_growth_interval(options.growth_interval);
}

// The scale times the factor, rounded once, as PyTorch has it. Not every device computes in float64, and most factors do
// without.
Tensor times(const Tensor& scale, double factor) {
  if (static_cast<double>(static_cast<float>(factor)) == factor) return mul(scale, factor);
  return cast(mul(cast(scale, f64), factor), f32);
}

void check_not_float16(const char* function, const std::vector<Tensor>& gradients) {
  for (const Tensor& gradient : gradients)
    BP_CHECK(gradient.dtype() != f16,
             "GradScaler: {}: a gradient of shape {} is float16, which loses what is unscaled; "
             "keep parameters in float32 and let Autocast cast them",
             function, to_string(gradient.shape()));
}

// The scaler's own calls: not recorded, and no argument cast.
class Apart {
  NoGrad not_recorded_;
  UseAutocast uncast_{AutocastState()};
};

}  // namespace

GradScaler::GradScaler(const GradScalerOptions& options) : options_(options) {
  check_options(options_);
}

void GradScaler::begin(Device device) {
  if (scale_.defined()) return;
  const Apart apart;
  scale_ = full({}, options_.init_scale, f32, device);
  growth_tracker_ = full({}, init_growth_tracker_, i32, device);
}

Tensor GradScaler::scale(const Tensor& outputs) {
  if (!is_enabled()) return outputs;
  BP_CHECK(outputs.defined(), "GradScaler: scale: the loss is undefined; compute it first");
  begin(outputs.device());
  return mul(outputs, to_device(scale_, outputs.device()));
}

std::vector<Tensor> GradScaler::scale(TensorList outputs) {
  std::vector<Tensor> scaled;
  for (const Tensor& output : outputs.span()) scaled.push_back(scale(output));
  return scaled;
}

void GradScaler::check_scaled(const char* function) const {
  BP_CHECK(scale_.defined(),
           "GradScaler: {}: no loss was scaled yet; call backward(scaler.scale(loss)) first",
           function);
}

void GradScaler::unscale_(optim::Optimizer& optimizer) {
  if (!is_enabled()) return;
  check_scaled("unscale_");
  PerOptimizer& state = optimizers_[optimizer.id()];
  BP_CHECK(
      state.stage != Stage::unscaled,
      "GradScaler: unscale_ was called for this optimizer since the last update(); call it once");
  BP_CHECK(state.stage != Stage::stepped,
           "GradScaler: unscale_ comes after step for this optimizer; call it before");
  const std::vector<Tensor> gradients = gradients_of(optimizer);
  BP_CHECK(
      !gradients.empty(),
      "GradScaler: unscale_: no parameter of the optimizer has a gradient; call backward first");
  check_not_float16("unscale_", gradients);
  const Apart apart;
  state.found_inf = found_inf_in(gradients);
  multiply_all(gradients, div(ones_like(scale_), scale_));
  state.stage = Stage::unscaled;
}

void GradScaler::step(optim::Optimizer& optimizer) {
  if (!is_enabled()) return optimizer.step();
  check_scaled("step");
  PerOptimizer& state = optimizers_[optimizer.id()];
  BP_CHECK(state.stage != Stage::stepped,
           "GradScaler: step was called for this optimizer since the last update(); call update()");
  optim::GradScaling scaling;
  if (state.stage == Stage::ready) {
    const std::vector<Tensor> gradients = gradients_of(optimizer);
    BP_CHECK(!gradients.empty(),
             "GradScaler: step: no parameter of the optimizer has a gradient; call backward first");
    if (!optimizer.takes_scaling()) check_not_float16("step", gradients);
    const Apart apart;
    state.found_inf = found_inf_in(gradients);
    scaling.grad_scale = scale_;
  }
  scaling.found_inf = state.found_inf;
  optimizer.step(scaling);
  state.stage = Stage::stepped;
}

void GradScaler::update() {
  if (!is_enabled()) return;
  check_scaled("update");
  const Apart apart;
  Tensor found;
  for (const auto& [optimizer, state] : optimizers_) {
    if (!state.found_inf.defined()) continue;
    const Tensor here = to_device(state.found_inf, scale_.device());
    found = found.defined() ? maximum(found, here) : here;
  }
  BP_CHECK(found.defined(),
           "GradScaler: update: no optimizer took a step or was unscaled; call step first");
  const Tensor skipped = ne(found, 0), successes = add(growth_tracker_, 1);
  const Tensor is_full = ge(successes, options_.growth_interval);
  const Tensor grown = times(scale_, options_.growth_factor);
  const Tensor grows = logical_and(is_full, isfinite(grown));
  const Tensor lower = times(scale_, options_.backoff_factor);
  const Tensor backed_off = where(gt(lower, 0), lower, scale_);  // 0 would never grow again
  copy_(scale_, where(skipped, backed_off, where(grows, grown, scale_)));
  copy_(growth_tracker_, mul(successes, cast(logical_not(logical_or(skipped, is_full)), i32)));
  optimizers_.clear();
}

void GradScaler::update(double new_scale) {
  if (!is_enabled()) return;
  check_scaled("update");
  check_scale(new_scale);
  const Apart apart;
  fill_(scale_, new_scale);
  optimizers_.clear();
}

double GradScaler::get_scale() const {
  if (!is_enabled()) return 1;
  return scale_.defined() ? item<Scalar>(scale_).to_double() : options_.init_scale;
}

void GradScaler::set_growth_factor(double factor) {
  check_growth_factor(factor);
  options_.growth_factor = factor;
}
void GradScaler::set_backoff_factor(double factor) {
  check_backoff_factor(factor);
  options_.backoff_factor = factor;
}
void GradScaler::set_growth_interval(std::int64_t interval) {
  check_growth_interval(interval);
  options_.growth_interval = interval;
}

State GradScaler::state_dict() const {
  if (!is_enabled()) return State::dict();
  const std::int64_t tracker =
      growth_tracker_.defined() ? item<Scalar>(growth_tracker_).to_int() : init_growth_tracker_;
  return State::dict({{"scale", get_scale()},
                      {"growth_factor", options_.growth_factor},
                      {"backoff_factor", options_.backoff_factor},
                      {"growth_interval", options_.growth_interval},
                      {"_growth_tracker", tracker}});
}

void GradScaler::load_state_dict(const State& state) {
  if (!is_enabled()) return;
  BP_CHECK(
      state.size() > 0,
      "GradScaler: load_state_dict: the state has no entries, as that of a scaler which is not "
      "enabled; make this one with enabled = false, or load another state");
  GradScalerOptions loaded = options_;
  loaded.init_scale = optim::number_of(state.at("scale"), "GradScaler: 'scale'");
  loaded.growth_factor = optim::number_of(state.at("growth_factor"), "GradScaler: 'growth_factor'");
  loaded.backoff_factor =
      optim::number_of(state.at("backoff_factor"), "GradScaler: 'backoff_factor'");
  loaded.growth_interval = state.at("growth_interval").as_int();
  const std::int64_t tracker = state.at("_growth_tracker").as_int();
  check_options(loaded);
  BP_CHECK(tracker >= 0 && tracker <= most_successes,
           "GradScaler: load_state_dict: _growth_tracker is {}; it must be from 0 to {}", tracker,
           most_successes);
  options_ = loaded;
  init_growth_tracker_ = tracker;
  if (!scale_.defined()) return;
  const Apart apart;
  fill_(scale_, options_.init_scale);
  fill_(growth_tracker_, tracker);
}

}  // namespace bp::amp
