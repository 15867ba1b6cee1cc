#include <algorithm>
#include <cmath>
#include <limits>

#include <backplane/optim/schedulers/plateau.hpp>
#include <backplane/tensor/check.hpp>

#include "checks.hpp"

namespace bp::optim {

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& optimizer, const ReduceLROnPlateauOptions& options)
    : optimizer_(&optimizer), options_(options) {
  auto& lowest = options_.min_lr.values;
  if (lowest.size() == 1) lowest.resize(optimizer.num_groups(), lowest[0]);
  best_ = (options.mode == "min" ? 1 : -1) * std::numeric_limits<double>::infinity();
  last_lr_ = current_rates();
  check();
}

void ReduceLROnPlateau::check() const {
  BP_CHECK(options_.factor < 1, "ReduceLROnPlateau: factor is {}; it must be below 1",
           options_.factor);
  BP_CHECK(options_.mode == "min" || options_.mode == "max",
           "ReduceLROnPlateau: mode is '{}'; it must be 'min' or 'max'", options_.mode);
  BP_CHECK(options_.threshold_mode == "rel" || options_.threshold_mode == "abs",
           "ReduceLROnPlateau: threshold_mode is '{}'; it must be 'rel' or 'abs'",
           options_.threshold_mode);
  BP_CHECK(options_.min_lr.values.size() == optimizer_->num_groups(),
           "ReduceLROnPlateau: {} numbers for min_lr and {} parameter groups; pass one, or one for "
           "each",
           options_.min_lr.values.size(), optimizer_->num_groups());
  for (const auto& [name, count] : {std::pair{"cooldown", options_.cooldown},
                                    {"cooldown_counter", cooldown_counter_},
                                    {"num_bad_epochs", num_bad_epochs_},
                                    {"last_epoch", last_epoch_}})
    check_count("ReduceLROnPlateau", name, count, 0);
  BP_CHECK(
      last_lr_.size() == optimizer_->num_groups(),
      "ReduceLROnPlateau: {} numbers as _last_lr and {} parameter groups; there must be one for "
      "each",
      last_lr_.size(), optimizer_->num_groups());
  BP_CHECK(!std::isnan(best_), "ReduceLROnPlateau: best is nan, which no metric is better than");
}

void ReduceLROnPlateau::step(double metric) {
  const State before = state_dict();
  const std::vector<double> rates = current_rates();
  try {
    take_step(metric);
  } catch (...) {
    fields().load(before);
    for (std::size_t group = 0; group < rates.size(); ++group)
      optimizer_->set_option(group, "lr", rates[group]);
    throw;
  }
}

void ReduceLROnPlateau::take_step(double metric) {
  ++last_epoch_;
  if (is_better(metric)) {
    best_ = metric;
    num_bad_epochs_ = 0;
  } else {
    ++num_bad_epochs_;
  }
  if (cooldown_counter_ > 0) {
    --cooldown_counter_;
    num_bad_epochs_ = 0;
  }
  if (num_bad_epochs_ > options_.patience) {
    reduce();
    cooldown_counter_ = options_.cooldown;
    num_bad_epochs_ = 0;
  }
  last_lr_ = current_rates();
}

bool ReduceLROnPlateau::is_better(double metric) const {
  const bool is_relative = options_.threshold_mode == "rel";
  if (options_.mode == "min")
    return metric < (is_relative ? best_ * (1 - options_.threshold) : best_ - options_.threshold);
  return metric > (is_relative ? best_ * (1 + options_.threshold) : best_ + options_.threshold);
}

void ReduceLROnPlateau::reduce() {
  const std::vector<double> rates = current_rates();
  BP_CHECK(rates.size() == options_.min_lr.values.size(),
           "ReduceLROnPlateau: the optimizer has {} parameter groups and had {} when the scheduler "
           "was made; add all groups before you make it",
           rates.size(), options_.min_lr.values.size());
  for (std::size_t group = 0; group < rates.size(); ++group) {
    const double next = std::max(rates[group] * options_.factor, options_.min_lr.values[group]);
    if (rates[group] - next > options_.eps) optimizer_->set_option(group, "lr", next);
  }
}

std::vector<double> ReduceLROnPlateau::current_rates() const {
  std::vector<double> rates;
  for (std::size_t group = 0; group < optimizer_->num_groups(); ++group)
    rates.push_back(optimizer_->option(group, "lr").as_double());
  return rates;
}

Fields ReduceLROnPlateau::fields() const {
  auto& own = const_cast<ReduceLROnPlateau&>(*this);
  return Fields("ReduceLROnPlateau")
      .add("mode", own.options_.mode)
      .add("factor", own.options_.factor)
      .add("patience", own.options_.patience)
      .add("threshold", own.options_.threshold)
      .add("threshold_mode", own.options_.threshold_mode)
      .add("cooldown", own.options_.cooldown)
      .add("min_lrs", own.options_.min_lr.values)
      .add("eps", own.options_.eps)
      .add("best", own.best_)
      .add("_last_lr", own.last_lr_)
      .add("cooldown_counter", own.cooldown_counter_)
      .add("num_bad_epochs", own.num_bad_epochs_)
      .add("last_epoch", own.last_epoch_);
}

State ReduceLROnPlateau::state_dict() const {
  return fields().state();
}

void ReduceLROnPlateau::load_state_dict(const State& dict) {
  dict.at("num_bad_epochs");
  fields().load(dict, [&] { check(); });
}

}  // namespace bp::optim
