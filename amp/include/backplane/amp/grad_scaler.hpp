// Scaling of losses: gradients that would be 0 in float16 survive, and steps that overflowed are skipped.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include <backplane/core_ops/arguments.hpp>
#include <backplane/optim/optimizer.hpp>
#include <backplane/state/state.hpp>

namespace bp::amp {

struct GradScalerOptions {
  double init_scale = 65536;
  double growth_factor =
      2;  // of the scale, after growth_interval steps in a row without an infinity or NaN
  double backoff_factor = 0.5;  // of the scale, after a step with one
  std::int64_t growth_interval = 2000;
  bool enabled =
      true;  // if false, losses are unchanged, steps are the optimizer's own, and the other functions do nothing
};

// PyTorch's torch.amp.GradScaler, after "Mixed Precision Training" (Micikevicius et al., 2018):
//
//   optimizer.zero_grad();
//   backward(scaler.scale(loss));
//   scaler.step(optimizer);  // unscales; changes nothing if a gradient is infinite or NaN
//   scaler.update();         // once, after the steps of all optimizers
//
// The scale, and whether a gradient overflowed, stay on the device: the only functions that wait for the device are
// get_scale, state_dict, and steps of optimizers that do not support GradScaling.
// Threads: one at a time.
class BP_API GradScaler {
 public:
  // Throws bad_argument unless growth_factor > 1, 0 < backoff_factor < 1, growth_interval >= 1 and init_scale > 0.
  explicit GradScaler(const GradScalerOptions& options = {});

  // The loss times the scale, recorded; for a list, each loss.
  Tensor scale(const Tensor& outputs);
  std::vector<Tensor> scale(TensorList outputs);

  // Divides the gradients of the optimizer's parameters by the scale, in place: before clipping, say. Once for each optimizer
  // and update, after backward and before step. Throws bad_argument otherwise, before the first scale(), for float16
  // gradients (float16 holds no scaled sums: keep parameters in float32), and if no parameter has a gradient.
  void unscale_(optim::Optimizer& optimizer);

  // The optimizer's step by gradients divided by the scale (unless unscale_ has done it), skipped if one of them is not
  // finite. The gradients themselves are not changed. Once for each optimizer and update; throws as unscale_ does, but
  // accepts float16 gradients for optimizers that divide in float32 as they go (Optimizer::takes_scaling). Parameters
  // may be on several devices, and on other devices than the loss.
  void step(optim::Optimizer& optimizer);

  // Raises or lowers the scale according to what the steps since the last update found, or sets the
  // new one. A scale that would become infinite or 0 is kept. Throws bad_argument if there was no
  // step.
  void update();
  void update(double new_scale);

  // Waits for the device. 1 if not enabled.
  double get_scale() const;
  bool is_enabled() const { return options_.enabled; }
  double get_growth_factor() const { return options_.growth_factor; }
  void set_growth_factor(double factor);
  double get_backoff_factor() const { return options_.backoff_factor; }
  void set_backoff_factor(double factor);
  std::int64_t get_growth_interval() const { return options_.growth_interval; }
  void set_growth_interval(std::int64_t interval);

  // {"scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"}; no entries if not enabled. Waits for
  // the device. load_state_dict throws bad_argument, and changes nothing, for a dict that lacks an entry, or holds
  // values that the constructor refuses.
  State state_dict() const;
  void load_state_dict(const State& state);

 private:
  enum class Stage : std::uint8_t { ready, unscaled, stepped };
  struct PerOptimizer {
    Stage stage = Stage::ready;
    Tensor
        found_inf;  // float32, 0-dim, on the first gradient's device: 1 if a gradient was not finite
  };

  void begin(Device device);
  void check_scaled(const char* function) const;

  GradScalerOptions options_;
  std::int64_t init_growth_tracker_ = 0;
  Tensor scale_,
      growth_tracker_;  // float32 and int32, 0-dim, on the first loss's device; undefined before it
  std::unordered_map<std::uint64_t, PerOptimizer> optimizers_;  // by Optimizer::id
};

}  // namespace bp::amp
