// Schedulers change learning rates from step to step.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <backplane/optim/optimizer.hpp>

namespace bp::optim {

// A number for all parameter groups, or one for each.
struct PerGroup {
  PerGroup(double number) : values{number} {}
  PerGroup(std::vector<double> numbers) : values(std::move(numbers)) {}
  std::vector<double> values;
};

// Writes the rates of all groups of an optimizer, which outlives it: the first when it is made, then the next with every
// step(), which comes after the optimizer's. Usually a rate is computed from the one before, so
// several schedulers may work on one optimizer. The number of groups must not change after the
// scheduler was made. A step throws, and changes neither rates nor anything else, if a rate would
// be negative, infinite or NaN, and if a function of the caller throws.
//
// All options have `last_epoch`: -1 begins; another number continues after that step, with the
// rates and the "initial_lr" that the optimizer's groups have by then.
class BP_API LRScheduler {
 public:
  virtual ~LRScheduler() = default;
  LRScheduler(const LRScheduler&) = delete;
  LRScheduler& operator=(const LRScheduler&) = delete;

  virtual void step();
  // The rate of each group, as the last step has set it.
  const std::vector<double>& get_last_lr() const { return last_lr_; }
  std::int64_t last_epoch() const { return last_epoch_; }
  Optimizer& optimizer() const { return *optimizer_; }
  virtual std::string type_name() const = 0;

  // By PyTorch's names, so that its scheduler of the same name can be loaded. Functions are not part of it. The optimizer's rates
  // are in the optimizer's state. Loading throws bad_argument, and changes nothing, for values of another kind, and for those
  // that the constructor refuses.
  virtual State state_dict() const;
  virtual void load_state_dict(const State& dict);

 protected:
  friend class SequentialLR;
  friend class ChainedScheduler;

  // Remembers the groups' "initial_lr". Throws bad_argument without it if `last_epoch` is not -1.
  LRScheduler(Optimizer& optimizer, std::int64_t last_epoch);
  struct Later {};  // the class fills base_lrs_ and last_epoch_ itself
  LRScheduler(Optimizer& optimizer, Later) : optimizer_(&optimizer) {}

  // Checks, and sets the first rates. Called by the constructors of concrete classes.
  void begin();
  // Throws bad_argument for members from which no step can continue. A class that has more calls
  // its base's first.
  virtual void check() const;
  // The next rates, computed from the previous ones.
  virtual std::vector<double> get_lr() = 0;
  // The rates at last_epoch, computed from the first ones.
  virtual std::vector<double> get_closed_form_lr() { return get_lr(); }
  // As if the first step were not taken yet; and the first rates again.
  virtual void undo() { --last_epoch_; }
  virtual void restart();
  // The schedulers that it is made of.
  virtual void each_part(const std::function<void(LRScheduler&)>&) const {}
  // The members that are its state.
  virtual Fields fields() const;
  // If what follows throws, this puts the members of the scheduler and its parts back, and the rates and momenta.
  class Whole;

  // Throws bad_argument if the optimizer has got more groups since.
  void check_groups() const;
  // For steps that are Whole: sets some rates if one is refused.
  void set_rates(const std::vector<double>& rates);
  std::vector<double> current_rates() const;
  // A rate for each group of its rate and its first one.
  std::vector<double> rates_by(const std::function<double(double now, double first)>& next) const;
  // One number for each group. Throws bad_argument if the list has another length.
  std::vector<double> per_group(const char* name, const PerGroup& numbers) const;
  // Momentum, or the first of betas. Throws bad_argument for an optimizer that has neither.
  void check_has_momentum() const;
  void set_momentum(std::size_t group, double momentum) const;

  std::vector<double> base_lrs_, last_lr_;
  std::int64_t last_epoch_ = -1, step_count_ = 0;
  bool is_initial_ = false;

 private:
  Optimizer* optimizer_;
};

}  // namespace bp::optim
