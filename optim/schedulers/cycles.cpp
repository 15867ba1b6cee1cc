#include <algorithm>
#include <cmath>
#include <numbers>

#include <backplane/optim/schedulers/cycles.hpp>
#include <backplane/tensor/check.hpp>

#include "checks.hpp"
#include "whole.hpp"

namespace bp::optim {
namespace {

constexpr double pi = std::numbers::pi;
constexpr std::int64_t longest = std::int64_t{1} << 53;

}  // namespace

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, const CosineAnnealingLROptions& options)
    : LRScheduler(optimizer, options.last_epoch), options_(options) {
  begin();
}

void CosineAnnealingLR::check() const {
  LRScheduler::check();
  check_count("CosineAnnealingLR", "T_max", options_.T_max, 1);
}

std::vector<double> CosineAnnealingLR::get_lr() {
  if (is_initial_) return current_rates();
  const double eta_min = options_.eta_min;
  const auto length = static_cast<double>(options_.T_max);
  const auto epoch = static_cast<double>(last_epoch_);
  if (step_count_ == 1 && last_epoch_ > 0) return get_closed_form_lr();
  if ((last_epoch_ - 1 - options_.T_max) % (2 * options_.T_max) == 0)
    return rates_by([&](double now, double first) {
      return now + (first - eta_min) * (1 - std::cos(pi / length)) / 2;
    });
  const double factor =
      (1 + std::cos(pi * epoch / length)) / (1 + std::cos(pi * (epoch - 1) / length));
  return rates_by([&](double now, double) { return factor * (now - eta_min) + eta_min; });
}

std::vector<double> CosineAnnealingLR::get_closed_form_lr() {
  const double height =
      (1 + std::cos(pi * static_cast<double>(last_epoch_) / static_cast<double>(options_.T_max))) /
      2;
  return rates_by(
      [&](double, double first) { return options_.eta_min + (first - options_.eta_min) * height; });
}

Fields CosineAnnealingLR::fields() const {
  auto& own = const_cast<CosineAnnealingLROptions&>(options_);
  return LRScheduler::fields().add("T_max", own.T_max).add("eta_min", own.eta_min);
}

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(
    Optimizer& optimizer, const CosineAnnealingWarmRestartsOptions& options)
    : LRScheduler(optimizer, options.last_epoch), options_(options), length_(options.T_0),
      place_(options.last_epoch) {
  begin();
}

void CosineAnnealingWarmRestarts::check() const {
  LRScheduler::check();
  check_count("CosineAnnealingWarmRestarts", "T_0", options_.T_0, 1);
  check_count("CosineAnnealingWarmRestarts", "T_mult", options_.T_mult, 1);
  check_count("CosineAnnealingWarmRestarts", "T_i", length_, 1);
  check_count("CosineAnnealingWarmRestarts", "T_cur", place_, -1);
}

void CosineAnnealingWarmRestarts::step() {
  const Whole whole(*this);
  if (last_epoch_ < 0) return restart();
  ++last_epoch_;
  if (++place_ >= length_) {
    place_ %= length_;
    // A length that no run comes to the end of.
    if (__builtin_mul_overflow(length_, options_.T_mult, &length_) || length_ > longest)
      length_ = longest;
  }
  set_rates(get_lr());
}

void CosineAnnealingWarmRestarts::restart() {
  last_epoch_ = place_ = 0;
  length_ = options_.T_0;
  set_rates(get_lr());
}

std::vector<double> CosineAnnealingWarmRestarts::get_lr() {
  const double height =
      (1 + std::cos(pi * static_cast<double>(place_) / static_cast<double>(length_))) / 2;
  return rates_by(
      [&](double, double first) { return options_.eta_min + (first - options_.eta_min) * height; });
}

Fields CosineAnnealingWarmRestarts::fields() const {
  auto& own = const_cast<CosineAnnealingWarmRestarts&>(*this);
  return LRScheduler::fields()
      .add("T_0", own.options_.T_0)
      .add("T_i", own.length_)
      .add("T_mult", own.options_.T_mult)
      .add("eta_min", own.options_.eta_min)
      .add("T_cur", own.place_);
}

OneCycleLR::OneCycleLR(Optimizer& optimizer, const OneCycleLROptions& options)
    : LRScheduler(optimizer, Later{}), pct_start_(options.pct_start),
      anneal_strategy_(options.anneal_strategy), cycle_momentum_(options.cycle_momentum),
      three_phase_(options.three_phase) {
  BP_CHECK(options.total_steps || (options.epochs && options.steps_per_epoch),
           "OneCycleLR: the number of steps is missing; pass total_steps, or epochs and "
           "steps_per_epoch");
  const std::int64_t epochs = options.epochs.value_or(1);
  const std::int64_t per_epoch = options.steps_per_epoch.value_or(1);
  if (!options.total_steps) {
    check_count("OneCycleLR", "epochs", epochs, 1);
    check_count("OneCycleLR", "steps_per_epoch", per_epoch, 1);
    BP_CHECK(!__builtin_mul_overflow(epochs, per_epoch, &total_steps_),
             "OneCycleLR: {} epochs of {} steps are too many", epochs, per_epoch);
  } else {
    total_steps_ = *options.total_steps;
  }
  last_epoch_ = options.last_epoch;
  check();
  const auto highest = per_group("max_lr", options.max_lr);
  const auto low = per_group("base_momentum", options.base_momentum);
  const auto high = per_group("max_momentum", options.max_momentum);
  for (std::size_t group = 0; group < optimizer.num_groups(); ++group) {
    if (last_epoch_ == -1) {
      const double first = highest[group] / options.div_factor;
      optimizer.set_option(group, "initial_lr", first);
      optimizer.set_option(group, "max_lr", highest[group]);
      optimizer.set_option(group, "min_lr", first / options.final_div_factor);
      if (cycle_momentum_) {
        set_momentum(group, high[group]);
        optimizer.set_option(group, "max_momentum", high[group]);
        optimizer.set_option(group, "base_momentum", low[group]);
      }
    }
    base_lrs_.push_back(number_of(optimizer.option(group, "initial_lr"), "'initial_lr'"));
  }
  begin();
}

void OneCycleLR::check() const {
  LRScheduler::check();
  check_count("OneCycleLR", "total_steps", total_steps_, 1);
  BP_CHECK(pct_start_ >= 0 && pct_start_ <= 1,
           "OneCycleLR: pct_start is {}; it must be from 0 to 1", pct_start_);
  check_strategy("OneCycleLR", anneal_strategy_);
  if (cycle_momentum_) check_has_momentum();
}

std::vector<OneCycleLR::Phase> OneCycleLR::phases() const {
  const auto total = static_cast<double>(total_steps_);
  const Phase up{pct_start_ * total - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum"};
  if (!three_phase_) return {up, {total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"}};
  return {up,
          {2 * pct_start_ * total - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"},
          {total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"}};
}

double OneCycleLR::between(double start, double end, double part) const {
  if (anneal_strategy_ == "linear") return (end - start) * part + start;
  return end + (start - end) / 2 * (std::cos(pi * part) + 1);
}

std::vector<double> OneCycleLR::get_lr() {
  BP_CHECK(last_epoch_ <= total_steps_,
           "OneCycleLR: step {} of {}; make the scheduler for as many steps as you take",
           last_epoch_, total_steps_);
  const std::vector<Phase> all = phases();
  const auto now = static_cast<double>(last_epoch_);
  std::size_t at = 0;
  while (at + 1 < all.size() && now > all[at].end) ++at;
  const double start = at == 0 ? 0 : all[at - 1].end;
  // A phase without a length, as the first of a pct_start that is one step, is at its end.
  const double part = all[at].end == start ? 1 : (now - start) / (all[at].end - start);
  std::vector<double> rates;
  for (std::size_t group = 0; group < base_lrs_.size(); ++group) {
    const auto value = [&](const char* name) {
      return number_of(optimizer().option(group, name), name);
    };
    // Along a line, the step after the last would go below 0.
    rates.push_back(std::max(0.0, between(value(all[at].start_lr), value(all[at].end_lr), part)));
    if (cycle_momentum_)
      set_momentum(group,
                   between(value(all[at].start_momentum), value(all[at].end_momentum), part));
  }
  return rates;
}

Fields OneCycleLR::fields() const {
  auto& own = const_cast<OneCycleLR&>(*this);
  return LRScheduler::fields()
      .add("total_steps", own.total_steps_)
      .add("_anneal_func_type", own.anneal_strategy_)
      .add("cycle_momentum", own.cycle_momentum_)
      .add("pct_start", own.pct_start_)
      .add("three_phase", own.three_phase_);
}

CyclicLR::CyclicLR(Optimizer& optimizer, const CyclicLROptions& options)
    : LRScheduler(optimizer, Later{}), scale_fn_(options.scale_fn), gamma_(options.gamma),
      mode_(options.mode), scale_mode_(options.scale_mode),
      cycle_momentum_(options.cycle_momentum) {
  const std::int64_t down = options.step_size_down.value_or(options.step_size_up);
  check_count("CyclicLR", "step_size_up", options.step_size_up, 1);
  check_count("CyclicLR", "step_size_down", down, 1);
  check_modes();
  if (!scale_fn_) scale_mode_ = mode_ == "exp_range" ? "iterations" : "cycle";
  const auto lowest = per_group("base_lr", options.base_lr);
  max_lrs_ = per_group("max_lr", options.max_lr);
  total_size_ = static_cast<double>(options.step_size_up) + static_cast<double>(down);
  step_ratio_ = static_cast<double>(options.step_size_up) / total_size_;
  if (cycle_momentum_) {
    base_momentums_ = per_group("base_momentum", options.base_momentum);
    max_momentums_ = per_group("max_momentum", options.max_momentum);
  }
  last_epoch_ = options.last_epoch;
  if (last_epoch_ == -1)
    for (std::size_t group = 0; group < lowest.size(); ++group) {
      optimizer.set_option(group, "lr", lowest[group]);
      if (!optimizer.has_option(group, "initial_lr"))
        optimizer.set_option(group, "initial_lr", lowest[group]);
      if (!cycle_momentum_) continue;
      set_momentum(group, max_momentums_[group]);
      optimizer.set_option(group, "max_momentum", max_momentums_[group]);
      optimizer.set_option(group, "base_momentum", base_momentums_[group]);
    }
  base_lrs_ = lowest;
  begin();
}

void CyclicLR::check_modes() const {
  const bool is_known = mode_ == "triangular" || mode_ == "triangular2" || mode_ == "exp_range";
  BP_CHECK(scale_fn_ || is_known,
           "CyclicLR: mode is '{}'; it must be 'triangular', 'triangular2' or 'exp_range', or "
           "there is a scale_fn",
           mode_);
  BP_CHECK(scale_mode_ == "cycle" || scale_mode_ == "iterations",
           "CyclicLR: scale_mode is '{}'; it must be 'cycle' or 'iterations'", scale_mode_);
  if (cycle_momentum_) check_has_momentum();
}

void CyclicLR::check() const {
  LRScheduler::check();
  check_modes();
  BP_CHECK(total_size_ >= 1 && total_size_ <= 0x1p54 && step_ratio_ > 0 && step_ratio_ <= 1,
           "CyclicLR: total_size is {} and step_ratio {}; the first must be at least 1, the second "
           "from 0 to 1",
           total_size_, step_ratio_);
  const std::size_t count = optimizer().num_groups();
  const std::size_t momentums = cycle_momentum_ ? count : base_momentums_.size();
  BP_CHECK(max_lrs_.size() == count && base_lrs_.size() == count &&
               base_momentums_.size() == momentums && max_momentums_.size() == momentums,
           "CyclicLR: {} base_lrs, {} max_lrs, {} base_momentums and {} max_momentums for {} "
           "parameter groups; there must be one for each group",
           base_lrs_.size(), max_lrs_.size(), base_momentums_.size(), max_momentums_.size(), count);
}

double CyclicLR::scale(double cycle) const {
  const double x = scale_mode_ == "cycle" ? cycle : static_cast<double>(last_epoch_);
  if (scale_fn_) return scale_fn_(x);
  if (mode_ == "triangular2") return 1 / std::pow(2.0, x - 1);
  return mode_ == "exp_range" ? std::pow(gamma_, x) : 1;
}

std::vector<double> CyclicLR::get_lr() {
  const double passed = static_cast<double>(last_epoch_) / total_size_;
  const double cycle = std::floor(1 + passed), x = 1 + passed - cycle;
  const double height =
      (x <= step_ratio_ ? x / step_ratio_ : (x - 1) / (step_ratio_ - 1)) * scale(cycle);
  for (std::size_t group = 0; cycle_momentum_ && group < max_momentums_.size(); ++group)
    set_momentum(group,
                 max_momentums_[group] - (max_momentums_[group] - base_momentums_[group]) * height);
  std::vector<double> rates = base_lrs_;
  for (std::size_t group = 0; group < rates.size(); ++group)
    rates[group] += (max_lrs_[group] - rates[group]) * height;
  return rates;
}

Fields CyclicLR::fields() const {
  auto& own = const_cast<CyclicLR&>(*this);
  Fields all = LRScheduler::fields();
  all.add("max_lrs", own.max_lrs_)
      .add("total_size", own.total_size_)
      .add("step_ratio", own.step_ratio_)
      .add("mode", own.mode_)
      .add("gamma", own.gamma_)
      .add("scale_mode", own.scale_mode_)
      .add("cycle_momentum", own.cycle_momentum_);
  if (cycle_momentum_)
    all.add("base_momentums", own.base_momentums_).add("max_momentums", own.max_momentums_);
  return all;
}

SWALR::SWALR(Optimizer& optimizer, const SWALROptions& options)
    : LRScheduler(optimizer, options.last_epoch), anneal_epochs_(options.anneal_epochs),
      anneal_strategy_(options.anneal_strategy) {
  const auto rates = per_group("swa_lr", options.swa_lr);
  for (std::size_t group = 0; group < rates.size(); ++group)
    optimizer.set_option(group, "swa_lr", rates[group]);
  begin();
}

void SWALR::check() const {
  LRScheduler::check();
  check_strategy("SWALR", anneal_strategy_);
  check_count("SWALR", "anneal_epochs", anneal_epochs_, 0);
}

double SWALR::annealed(double part) const {
  return anneal_strategy_ == "cos" ? (1 - std::cos(pi * part)) / 2 : part;
}

std::vector<double> SWALR::get_lr() {
  const std::int64_t step =
      anneal_epochs_ == 0 ? std::max<std::int64_t>(1, step_count_ - 1) : step_count_ - 1;
  const auto length = static_cast<double>(std::max<std::int64_t>(1, anneal_epochs_));
  const auto part = [&](std::int64_t at) {
    return annealed(std::clamp(static_cast<double>(at) / length, 0.0, 1.0));
  };
  const double before = part(step - 1), now = part(step);
  std::vector<double> rates = current_rates();
  for (std::size_t group = 0; group < rates.size(); ++group) {
    const double goal = number_of(optimizer().option(group, "swa_lr"), "'swa_lr'");
    const double first = before == 1 ? goal : (rates[group] - before * goal) / (1 - before);
    rates[group] = goal * now + first * (1 - now);
  }
  return rates;
}

Fields SWALR::fields() const {
  auto& own = const_cast<SWALR&>(*this);
  return LRScheduler::fields()
      .add("anneal_epochs", own.anneal_epochs_)
      .add("_anneal_strategy", own.anneal_strategy_);
}

}  // namespace bp::optim
