// Lowers rates when a metric stops improving.
#pragma once

#include <backplane/optim/schedulers/scheduler.hpp>

namespace bp::optim {

struct ReduceLROnPlateauOptions {
  std::string mode = "min";  // what better is; or "max"
  double factor = 0.1;
  std::int64_t patience = 10;
  double threshold = 1e-4;
  std::string threshold_mode = "rel";  // or "abs"
  std::int64_t cooldown = 0;
  PerGroup min_lr = 0.0;
  double eps = 1e-8;
};

// After more than `patience` steps without a metric that is better by `threshold`, rates go down by `factor`, though not below
// min_lr, and not at all if that changes less than eps. NaN is not better. It is not an LRScheduler, since its step needs the
// metric. The optimizer outlives it.
class BP_API ReduceLROnPlateau {
 public:
  // Throws bad_argument for a factor of 1 or above, and for other modes.
  ReduceLROnPlateau(Optimizer& optimizer, const ReduceLROnPlateauOptions& options = {});
  // Throws bad_argument, and changes nothing, if the optimizer has got more groups, or would refuse a rate.
  void step(double metric);
  const std::vector<double>& get_last_lr() const { return last_lr_; }
  std::int64_t num_bad_epochs() const { return num_bad_epochs_; }

  // Loading throws bad_argument, and changes nothing, for what LRScheduler's refuses.
  State state_dict() const;
  void load_state_dict(const State& dict);

 private:
  Fields fields() const;
  void check() const;
  void take_step(double metric);
  bool is_better(double metric) const;
  void reduce();
  std::vector<double> current_rates() const;

  Optimizer* optimizer_;
  ReduceLROnPlateauOptions options_;
  double best_;
  std::vector<double> last_lr_;
  std::int64_t cooldown_counter_ = 0, num_bad_epochs_ = 0, last_epoch_ = 0;
};

}  // namespace bp::optim
