#include <cmath>

#include <backplane/optim/schedulers/scheduler.hpp>
#include <backplane/tensor/check.hpp>

#include "checks.hpp"
#include "whole.hpp"

namespace bp::optim {

void check_count(const std::string& scheduler, const char* name, std::int64_t value,
                 std::int64_t least) {
  BP_CHECK(value >= least, "{}: {} is {}; it must be at least {}", scheduler, name, value, least);
  BP_CHECK(value <= std::int64_t{1} << 53, "{}: {} is {}; it must be at most 2^53", scheduler, name,
           value);
}

void check_strategy(const std::string& scheduler, const std::string& strategy) {
  BP_CHECK(strategy == "cos" || strategy == "linear",
           "{}: anneal_strategy is '{}'; it must be 'cos' or 'linear'", scheduler, strategy);
}

LRScheduler::LRScheduler(Optimizer& optimizer, std::int64_t last_epoch)
    : last_epoch_(last_epoch), optimizer_(&optimizer) {
  for (std::size_t group = 0; group < optimizer.num_groups(); ++group) {
    if (!optimizer.has_option(group, "initial_lr")) {
      BP_CHECK(
          last_epoch == -1,
          "a scheduler is to continue after step {}, but parameter group {} has no 'initial_lr'; "
          "load the optimizer's state first, or begin with last_epoch -1",
          last_epoch, group);
      optimizer.set_option(group, "initial_lr", optimizer.option(group, "lr"));
    }
    base_lrs_.push_back(number_of(optimizer.option(group, "initial_lr"), "'initial_lr'"));
  }
}

void LRScheduler::begin() {
  step_count_ = 0;
  check();
  is_initial_ = true;
  step();
  is_initial_ = false;
}

void LRScheduler::check() const {
  check_count(type_name(), "last_epoch", last_epoch_, -1);
  check_count(type_name(), "_step_count", step_count_, 0);
  for (const auto* rates : {&base_lrs_, &last_lr_})
    for (const double rate : *rates)
      BP_CHECK(std::isfinite(rate), "{}: a rate is {}; it must be finite", type_name(), rate);
}

void LRScheduler::step() {
  check_groups();
  const Whole whole(*this);
  ++step_count_;
  ++last_epoch_;
  set_rates(get_lr());
}

void LRScheduler::restart() {
  last_epoch_ = 0;
  set_rates(get_closed_form_lr());
}

void LRScheduler::check_groups() const {
  BP_CHECK(base_lrs_.size() == optimizer_->num_groups(),
           "{}: the optimizer has {} parameter groups and had {} when the scheduler was made; add "
           "all groups before you make it",
           type_name(), optimizer_->num_groups(), base_lrs_.size());
}

void LRScheduler::set_rates(const std::vector<double>& rates) {
  check_groups();
  for (std::size_t group = 0; group < rates.size(); ++group)
    optimizer_->set_option(group, "lr", rates[group]);
  last_lr_ = rates;
}

std::vector<double> LRScheduler::current_rates() const {
  std::vector<double> rates;
  for (std::size_t group = 0; group < optimizer_->num_groups(); ++group)
    rates.push_back(optimizer_->option(group, "lr").as_double());
  return rates;
}

std::vector<double> LRScheduler::rates_by(const std::function<double(double, double)>& next) const {
  check_groups();
  std::vector<double> rates = current_rates();
  for (std::size_t group = 0; group < rates.size(); ++group)
    rates[group] = next(rates[group], base_lrs_[group]);
  return rates;
}

std::vector<double> LRScheduler::per_group(const char* name, const PerGroup& numbers) const {
  const std::size_t count = optimizer_->num_groups();
  if (numbers.values.size() == 1) return std::vector<double>(count, numbers.values[0]);
  BP_CHECK(numbers.values.size() == count,
           "a scheduler got {} numbers for {}, and the optimizer has {} parameter groups; pass one "
           "number, or one for each",
           numbers.values.size(), name, count);
  return numbers.values;
}

void LRScheduler::check_has_momentum() const {
  for (std::size_t group = 0; group < optimizer_->num_groups(); ++group)
    BP_CHECK(optimizer_->has_option(group, "momentum") || optimizer_->has_option(group, "betas"),
             "{} has neither momentum nor betas; make the scheduler with cycle_momentum off",
             optimizer_->type_name());
}

void LRScheduler::set_momentum(std::size_t group, double momentum) const {
  if (!optimizer_->has_option(group, "betas"))
    return optimizer_->set_option(group, "momentum", momentum);
  State::List betas = optimizer_->option(group, "betas").as_list();
  betas[0] = momentum;
  optimizer_->set_option(group, "betas", betas);
}

Fields LRScheduler::fields() const {
  auto& own = const_cast<LRScheduler&>(*this);
  return Fields(type_name())
      .add("base_lrs", own.base_lrs_)
      .add("last_epoch", own.last_epoch_)
      .add("_step_count", own.step_count_)
      .add("_last_lr", own.last_lr_);
}

State LRScheduler::state_dict() const {
  return fields().state();
}

void LRScheduler::load_state_dict(const State& dict) {
  for (const char* name : {"base_lrs", "_last_lr"})
    if (const State* rates = dict.find(name))
      BP_CHECK(!rates->is_list() || rates->size() == optimizer_->num_groups(),
               "{}: the state has {} numbers as {}, and the optimizer {} parameter groups; is it "
               "the state of another run?",
               type_name(), rates->size(), name, optimizer_->num_groups());
  dict.at("last_epoch");
  fields().load(dict, [&] { check(); });
}

}  // namespace bp::optim
