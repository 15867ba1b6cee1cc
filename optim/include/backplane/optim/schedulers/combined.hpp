// Schedulers made of others: one after the other, or all at once.
#pragma once

#include <memory>

#include <backplane/optim/schedulers/scheduler.hpp>

namespace bp::optim {

using Schedulers = std::vector<std::shared_ptr<LRScheduler>>;

// Each scheduler until its milestone, which counts steps from the start, then the next, from its first rates. Throws
// bad_argument for schedulers of another optimizer, and unless there is one scheduler more than milestones, which rise.
class BP_API SequentialLR : public LRScheduler {
 public:
  SequentialLR(Optimizer& optimizer, Schedulers schedulers, std::vector<std::int64_t> milestones);
  void step() override;
  std::string type_name() const override { return "SequentialLR"; }
  State state_dict() const override;
  void load_state_dict(const State& dict) override;

 protected:
  std::vector<double> get_lr() override;
  void undo() override;
  void restart() override;
  void each_part(const std::function<void(LRScheduler&)>& visit) const override;
  Fields fields() const override;
  void check() const override;

 private:
  std::size_t place() const;

  Schedulers schedulers_;
  std::vector<std::int64_t> milestones_;
};

// Steps all of them, in their order: their factors multiply. Throws bad_argument for none, and for several optimizers.
class BP_API ChainedScheduler : public LRScheduler {
 public:
  explicit ChainedScheduler(Schedulers schedulers);
  void step() override;
  std::string type_name() const override { return "ChainedScheduler"; }
  State state_dict() const override;
  void load_state_dict(const State& dict) override;

 protected:
  std::vector<double> get_lr() override;
  void undo() override;
  void restart() override;
  void each_part(const std::function<void(LRScheduler&)>& visit) const override;
  Fields fields() const override;

 private:
  Schedulers schedulers_;
};

}  // namespace bp::optim
