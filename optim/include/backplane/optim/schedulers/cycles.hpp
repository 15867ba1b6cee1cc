// Schedulers along cosines and cycles.
#pragma once

#include <backplane/optim/schedulers/scheduler.hpp>

namespace bp::optim {

struct CosineAnnealingLROptions {
  std::int64_t T_max;
  double eta_min = 0;
  std::int64_t last_epoch = -1;
};

// From the first rate to eta_min in T_max steps along half a cosine, and back (Loshchilov and Hutter, 2017, without restarts).
// Throws bad_argument for a T_max below 1.
class BP_API CosineAnnealingLR : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, const CosineAnnealingLROptions& options);
  std::string type_name() const override { return "CosineAnnealingLR"; }

 protected:
  std::vector<double> get_lr() override;
  std::vector<double> get_closed_form_lr() override;
  Fields fields() const override;
  void check() const override;

 private:
  CosineAnnealingLROptions options_;
};

struct CosineAnnealingWarmRestartsOptions {
  std::int64_t T_0;
  std::int64_t T_mult = 1;
  double eta_min = 0;
  std::int64_t last_epoch = -1;
};

// Half a cosine again and again, the first in T_0 steps, each next T_mult times as long (Loshchilov and Hutter, 2017).
// Throws bad_argument for a T_0 or T_mult below 1.
class BP_API CosineAnnealingWarmRestarts : public LRScheduler {
 public:
  CosineAnnealingWarmRestarts(Optimizer& optimizer,
                              const CosineAnnealingWarmRestartsOptions& options);
  void step() override;
  std::string type_name() const override { return "CosineAnnealingWarmRestarts"; }

 protected:
  std::vector<double> get_lr() override;
  Fields fields() const override;
  void check() const override;
  void restart() override;

 private:
  CosineAnnealingWarmRestartsOptions options_;
  std::int64_t length_, place_;  // of the cosine that runs, and where in it
};

struct OneCycleLROptions {
  PerGroup max_lr;
  // This, or the other two.
  std::optional<std::int64_t> total_steps = {};
  std::optional<std::int64_t> epochs = {};
  std::optional<std::int64_t> steps_per_epoch = {};
  double pct_start = 0.3;
  std::string anneal_strategy = "cos";  // or "linear"
  bool cycle_momentum = true;
  PerGroup base_momentum = 0.85;
  PerGroup max_momentum = 0.95;
  double div_factor = 25;
  double final_div_factor = 1e4;
  bool three_phase = false;
  std::int64_t last_epoch = -1;
};

// Up to max_lr and down far below where it began, while momentum, or the first of betas, goes the other way (Smith and
// Topin, 2018). Throws bad_argument for inconsistent options, and when it is asked for more than
// total_steps steps.
class BP_API OneCycleLR : public LRScheduler {
 public:
  OneCycleLR(Optimizer& optimizer, const OneCycleLROptions& options);
  std::string type_name() const override { return "OneCycleLR"; }

 protected:
  std::vector<double> get_lr() override;
  Fields fields() const override;
  void check() const override;

 private:
  struct Phase {
    double end;
    const char *start_lr, *end_lr, *start_momentum, *end_momentum;  // entries of the groups
  };
  std::vector<Phase> phases() const;
  double between(double start, double end, double part) const;

  std::int64_t total_steps_ = 0;
  double pct_start_;
  std::string anneal_strategy_;
  bool cycle_momentum_, three_phase_;
};

struct CyclicLROptions {
  PerGroup base_lr;
  PerGroup max_lr;
  std::int64_t step_size_up = 2000;
  std::optional<std::int64_t> step_size_down = {};  // absent: as up
  std::string mode = "triangular";                  // or "triangular2", "exp_range"
  double gamma = 1;
  // In place of a mode: how high a cycle goes, by its number from 1, or by the step for scale_mode "iterations".
  std::function<double(double)> scale_fn = {};
  std::string scale_mode = "cycle";
  bool cycle_momentum = true;
  PerGroup base_momentum = 0.8;
  PerGroup max_momentum = 0.9;
  std::int64_t last_epoch = -1;
};

// Between base_lr and max_lr, up and down, while momentum, or the first of betas, goes the other way (Smith, 2017). Throws
// bad_argument for an unknown mode, sizes below 1, and an optimizer without momentum unless cycle_momentum is off.
class BP_API CyclicLR : public LRScheduler {
 public:
  CyclicLR(Optimizer& optimizer, const CyclicLROptions& options);
  std::string type_name() const override { return "CyclicLR"; }

 protected:
  std::vector<double> get_lr() override;
  Fields fields() const override;
  void check() const override;

 private:
  void check_modes() const;
  double scale(double cycle) const;

  std::function<double(double)> scale_fn_;
  std::vector<double> max_lrs_, base_momentums_, max_momentums_;
  double total_size_ = 0, step_ratio_ = 0, gamma_;
  std::string mode_, scale_mode_;
  bool cycle_momentum_;
};

struct SWALROptions {
  PerGroup swa_lr;
  std::int64_t anneal_epochs = 10;
  std::string anneal_strategy = "cos";  // or "linear"
  std::int64_t last_epoch = -1;
};

// To swa_lr in anneal_epochs steps, and then the same: for averaging weights (Izmailov et al., 2018). Throws bad_argument for
// another strategy and negative anneal_epochs.
class BP_API SWALR : public LRScheduler {
 public:
  SWALR(Optimizer& optimizer, const SWALROptions& options);
  std::string type_name() const override { return "SWALR"; }

 protected:
  std::vector<double> get_lr() override;
  Fields fields() const override;
  void check() const override;

 private:
  double annealed(double part) const;

  std::int64_t anneal_epochs_;
  std::string anneal_strategy_;
};

}  // namespace bp::optim
