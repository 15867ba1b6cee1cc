#include <algorithm>
#include <charconv>
#include <cmath>

#include <backplane/optim/schedulers/factors.hpp>
#include <backplane/tensor/check.hpp>

#include "checks.hpp"

namespace bp::optim {
namespace {

constexpr std::int64_t most_milestones = 1 << 20;

double power_of(double base, std::int64_t exponent) {
  return std::pow(base, static_cast<double>(exponent));
}

std::vector<RateFunction> for_all_groups(const char* scheduler, const Optimizer& optimizer,
                                         std::vector<RateFunction> functions) {
  if (functions.size() == 1) functions.resize(optimizer.num_groups(), functions[0]);
  BP_CHECK(functions.size() == optimizer.num_groups(),
           "{}: {} functions for {} parameter groups; pass one, or one for each", scheduler,
           functions.size(), optimizer.num_groups());
  for (const RateFunction& each : functions) BP_CHECK(each, "{}: got an empty function", scheduler);
  return functions;
}

}  // namespace

StepLR::StepLR(Optimizer& optimizer, const StepLROptions& options)
    : LRScheduler(optimizer, options.last_epoch), options_(options) {
  begin();
}

void StepLR::check() const {
  LRScheduler::check();
  check_count("StepLR", "step_size", options_.step_size, 1);
}

std::vector<double> StepLR::get_lr() {
  if (last_epoch_ == 0 || last_epoch_ % options_.step_size != 0) return current_rates();
  return rates_by([&](double now, double) { return now * options_.gamma; });
}

std::vector<double> StepLR::get_closed_form_lr() {
  const double factor = power_of(options_.gamma, last_epoch_ / options_.step_size);
  return rates_by([&](double, double first) { return first * factor; });
}

Fields StepLR::fields() const {
  auto& own = const_cast<StepLROptions&>(options_);
  return LRScheduler::fields().add("step_size", own.step_size).add("gamma", own.gamma);
}

MultiStepLR::MultiStepLR(Optimizer& optimizer, const MultiStepLROptions& options)
    : LRScheduler(optimizer, options.last_epoch), options_(options) {
  std::sort(options_.milestones.begin(), options_.milestones.end());
  begin();
}

std::vector<double> MultiStepLR::get_lr() {
  const auto times =
      std::count(options_.milestones.begin(), options_.milestones.end(), last_epoch_);
  if (times == 0) return current_rates();
  const double factor = power_of(options_.gamma, times);
  return rates_by([&](double now, double) { return now * factor; });
}

std::vector<double> MultiStepLR::get_closed_form_lr() {
  const auto& all = options_.milestones;
  const double factor =
      power_of(options_.gamma, std::upper_bound(all.begin(), all.end(), last_epoch_) - all.begin());
  return rates_by([&](double, double first) { return first * factor; });
}

Fields MultiStepLR::fields() const {
  return LRScheduler::fields().add("gamma", const_cast<double&>(options_.gamma));
}

State MultiStepLR::state_dict() const {
  State milestones = State::dict();
  for (const std::int64_t each : options_.milestones)
    milestones.set(std::to_string(each),
                   static_cast<std::int64_t>(
                       std::count(options_.milestones.begin(), options_.milestones.end(), each)));
  State made = LRScheduler::state_dict();
  made.set("milestones", milestones);
  return made;
}

void MultiStepLR::load_state_dict(const State& dict) {
  std::vector<std::int64_t> milestones;
  const State* saved = dict.find("milestones");
  if (saved)
    for (const auto& [key, times] : saved->entries()) {
      std::int64_t milestone = 0;
      const char* end = key.data() + key.size();
      const auto [rest, code] = std::from_chars(key.data(), end, milestone);
      BP_CHECK(code == std::errc() && rest == end,
               "MultiStepLR: '{}' is not a milestone; it must be a whole number", key);
      const std::int64_t count = times.as_int();
      BP_CHECK(
          count >= 0 && count <= most_milestones - static_cast<std::int64_t>(milestones.size()),
          "MultiStepLR: milestone {} counts {} times; all together may count {} times", key, count,
          most_milestones);
      milestones.insert(milestones.end(), static_cast<std::size_t>(count), milestone);
    }
  std::sort(milestones.begin(), milestones.end());
  LRScheduler::load_state_dict(dict);
  if (saved) options_.milestones = std::move(milestones);
}

ExponentialLR::ExponentialLR(Optimizer& optimizer, const ExponentialLROptions& options)
    : LRScheduler(optimizer, options.last_epoch), options_(options) {
  begin();
}

std::vector<double> ExponentialLR::get_lr() {
  if (is_initial_) return current_rates();
  return rates_by([&](double now, double) { return now * options_.gamma; });
}

std::vector<double> ExponentialLR::get_closed_form_lr() {
  const double factor = power_of(options_.gamma, last_epoch_);
  return rates_by([&](double, double first) { return first * factor; });
}

Fields ExponentialLR::fields() const {
  return LRScheduler::fields().add("gamma", const_cast<double&>(options_.gamma));
}

ConstantLR::ConstantLR(Optimizer& optimizer, const ConstantLROptions& options)
    : LRScheduler(optimizer, options.last_epoch), options_(options) {
  begin();
}

void ConstantLR::check() const {
  LRScheduler::check();
  BP_CHECK(options_.factor > 0 && options_.factor <= 1,
           "ConstantLR: factor is {}; it must be above 0 and at most 1", options_.factor);
}

std::vector<double> ConstantLR::get_lr() {
  if (last_epoch_ != 0 && last_epoch_ != options_.total_iters) return current_rates();
  const double factor = last_epoch_ == 0 ? options_.factor : 1 / options_.factor;
  return rates_by([&](double now, double) { return now * factor; });
}

std::vector<double> ConstantLR::get_closed_form_lr() {
  const double factor = last_epoch_ >= options_.total_iters ? 1 : options_.factor;
  return rates_by([&](double, double first) { return first * factor; });
}

Fields ConstantLR::fields() const {
  auto& own = const_cast<ConstantLROptions&>(options_);
  return LRScheduler::fields().add("factor", own.factor).add("total_iters", own.total_iters);
}

LinearLR::LinearLR(Optimizer& optimizer, const LinearLROptions& options)
    : LRScheduler(optimizer, options.last_epoch), options_(options) {
  begin();
}

void LinearLR::check() const {
  LRScheduler::check();
  BP_CHECK(options_.start_factor > 0 && options_.start_factor <= 1,
           "LinearLR: start_factor is {}; it must be above 0 and at most 1", options_.start_factor);
  BP_CHECK(options_.end_factor >= 0 && options_.end_factor <= 1,
           "LinearLR: end_factor is {}; it must be from 0 to 1", options_.end_factor);
  check_count("LinearLR", "total_iters", options_.total_iters, 1);
}

std::vector<double> LinearLR::get_lr() {
  const double start = options_.start_factor, change = options_.end_factor - start;
  if (last_epoch_ == 0) return rates_by([&](double now, double) { return now * start; });
  if (is_initial_ || last_epoch_ > options_.total_iters) return current_rates();
  const double factor = 1 + change / (static_cast<double>(options_.total_iters) * start +
                                      static_cast<double>(last_epoch_ - 1) * change);
  return rates_by([&](double now, double) { return now * factor; });
}

std::vector<double> LinearLR::get_closed_form_lr() {
  const double start = options_.start_factor, change = options_.end_factor - start;
  const double factor =
      start + change * static_cast<double>(std::min(options_.total_iters, last_epoch_)) /
                  static_cast<double>(options_.total_iters);
  return rates_by([&](double, double first) { return first * factor; });
}

Fields LinearLR::fields() const {
  auto& own = const_cast<LinearLROptions&>(options_);
  return LRScheduler::fields()
      .add("start_factor", own.start_factor)
      .add("end_factor", own.end_factor)
      .add("total_iters", own.total_iters);
}

PolynomialLR::PolynomialLR(Optimizer& optimizer, const PolynomialLROptions& options)
    : LRScheduler(optimizer, options.last_epoch), options_(options) {
  begin();
}

void PolynomialLR::check() const {
  LRScheduler::check();
  check_count("PolynomialLR", "total_iters", options_.total_iters, 1);
}

std::vector<double> PolynomialLR::get_lr() {
  if (is_initial_ || last_epoch_ > options_.total_iters) return current_rates();
  const auto total = static_cast<double>(options_.total_iters);
  const auto epoch = static_cast<double>(last_epoch_);
  const double factor = std::pow((1 - epoch / total) / (1 - (epoch - 1) / total), options_.power);
  return rates_by([&](double now, double) { return now * factor; });
}

std::vector<double> PolynomialLR::get_closed_form_lr() {
  const double part = static_cast<double>(std::min(options_.total_iters, last_epoch_)) /
                      static_cast<double>(options_.total_iters);
  return rates_by([&](double, double first) { return first * std::pow(1 - part, options_.power); });
}

Fields PolynomialLR::fields() const {
  auto& own = const_cast<PolynomialLROptions&>(options_);
  return LRScheduler::fields().add("total_iters", own.total_iters).add("power", own.power);
}

LambdaLR::LambdaLR(Optimizer& optimizer, RateFunction lr_lambda, std::int64_t last_epoch)
    : LambdaLR(optimizer, std::vector{std::move(lr_lambda)}, last_epoch) {}

LambdaLR::LambdaLR(Optimizer& optimizer, std::vector<RateFunction> lr_lambdas,
                   std::int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch),
      functions_(for_all_groups("LambdaLR", optimizer, std::move(lr_lambdas))) {
  begin();
}

std::vector<double> LambdaLR::get_lr() {
  std::vector<double> rates = base_lrs_;
  for (std::size_t group = 0; group < rates.size(); ++group)
    rates[group] *= functions_[group](last_epoch_);
  return rates;
}

MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, RateFunction lr_lambda,
                                   std::int64_t last_epoch)
    : MultiplicativeLR(optimizer, std::vector{std::move(lr_lambda)}, last_epoch) {}

MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, std::vector<RateFunction> lr_lambdas,
                                   std::int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch),
      functions_(for_all_groups("MultiplicativeLR", optimizer, std::move(lr_lambdas))) {
  begin();
}

std::vector<double> MultiplicativeLR::get_lr() {
  std::vector<double> rates = current_rates();
  if (is_initial_) return rates;
  for (std::size_t group = 0; group < functions_.size(); ++group)
    rates[group] *= functions_[group](last_epoch_);
  return rates;
}

}  // namespace bp::optim
