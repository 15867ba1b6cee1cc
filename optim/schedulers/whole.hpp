// Steps of schedulers, taken whole or not at all.
#pragma once

#include <exception>
#include <utility>
#include <vector>

#include <backplane/optim/schedulers/scheduler.hpp>

namespace bp::optim {

class LRScheduler::Whole {
 public:
  explicit Whole(LRScheduler& scheduler) : optimizer_(scheduler.optimizer()) {
    keep(scheduler);
    for (std::size_t group = 0; group < optimizer_.num_groups(); ++group)
      for (const char* name : {"lr", "momentum", "betas"})
        if (optimizer_.has_option(group, name))
          options_.push_back({group, name, optimizer_.option(group, name)});
  }
  Whole(const Whole&) = delete;
  Whole& operator=(const Whole&) = delete;
  ~Whole() {
    if (std::uncaught_exceptions() == num_exceptions_) return;
    for (const auto& [scheduler, members] : members_) try {
        scheduler->fields().load(members);
      } catch (...) {  // memory has ended
      }
    for (const auto& [group, name, value] : options_) try {
        optimizer_.set_option(group, name, value);
      } catch (...) {  // it was wrong before, and the optimizer's step will say so
      }
  }

 private:
  struct Option {
    std::size_t group;
    const char* name;
    State value;
  };
  void keep(LRScheduler& scheduler) {
    members_.emplace_back(&scheduler, scheduler.fields().state());
    scheduler.each_part([&](LRScheduler& part) { keep(part); });
  }

  Optimizer& optimizer_;
  int num_exceptions_ = std::uncaught_exceptions();
  std::vector<std::pair<LRScheduler*, State>> members_;
  std::vector<Option> options_;
};

}  // namespace bp::optim
