#include <algorithm>

#include <backplane/optim/schedulers/combined.hpp>
#include <backplane/tensor/check.hpp>

#include "whole.hpp"

namespace bp::optim {
namespace {

constexpr const char* parts_key = "_schedulers";

void check_parts(const char* name, const Optimizer* optimizer, const Schedulers& parts) {
  BP_CHECK(!parts.empty(), "{}: got no scheduler; pass at least one", name);
  for (std::size_t i = 0; i < parts.size(); ++i)
    BP_CHECK(parts[i] && (!optimizer || &parts[i]->optimizer() == optimizer),
             "{}: scheduler {} belongs to another optimizer; make all of them for the same one",
             name, i);
}

State states_of(State made, const Schedulers& parts) {
  State::List all;
  for (const auto& each : parts) all.push_back(each->state_dict());
  made.set(parts_key, all);
  return made;
}

const State::List& parts_of(const std::string& name, const State& dict, const Schedulers& parts) {
  const State::List& saved = dict.at(parts_key).as_list();
  BP_CHECK(saved.size() == parts.size(),
           "{}: the state has {} schedulers, and this one has {}; combine the same ones first",
           name, saved.size(), parts.size());
  return saved;
}

// Loads all of them, or none.
void load_parts(const Schedulers& parts, const State::List& saved,
                const std::function<void()>& load_own) {
  State::List before;
  for (const auto& each : parts) before.push_back(each->state_dict());
  try {
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i]->load_state_dict(saved[i]);
    load_own();
  } catch (...) {
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i]->load_state_dict(before[i]);
    throw;
  }
}

}  // namespace

SequentialLR::SequentialLR(Optimizer& optimizer, Schedulers schedulers,
                           std::vector<std::int64_t> milestones)
    : LRScheduler(optimizer, Later{}), schedulers_(std::move(schedulers)),
      milestones_(std::move(milestones)) {
  check_parts("SequentialLR", &optimizer, schedulers_);
  check();
  last_epoch_ = 0;
  for (std::size_t group = 0; group < optimizer.num_groups(); ++group)
    optimizer.set_option(group, "lr", optimizer.option(group, "initial_lr"));
  for (const auto& each : schedulers_) each->undo();
  LRScheduler& first = *schedulers_[place()];
  first.begin();
  last_lr_ = first.get_last_lr();
}

std::size_t SequentialLR::place() const {
  return static_cast<std::size_t>(
      std::upper_bound(milestones_.begin(), milestones_.end(), last_epoch_) - milestones_.begin());
}

void SequentialLR::step() {
  const Whole whole(*this);
  ++last_epoch_;
  LRScheduler& now = *schedulers_[place()];
  if (place() > 0 && milestones_[place() - 1] == last_epoch_)
    now.restart();
  else
    now.step();
  last_lr_ = now.get_last_lr();
}

std::vector<double> SequentialLR::get_lr() {
  return current_rates();
}

void SequentialLR::undo() {
  for (const auto& each : schedulers_) each->undo();
}

void SequentialLR::restart() {
  last_epoch_ = 0;
  schedulers_[place()]->restart();
  last_lr_ = current_rates();
}

Fields SequentialLR::fields() const {
  auto& own = const_cast<SequentialLR&>(*this);
  return Fields(type_name())
      .add("last_epoch", own.last_epoch_)
      .add("_milestones", own.milestones_)
      .add("_last_lr", own.last_lr_);
}

void SequentialLR::each_part(const std::function<void(LRScheduler&)>& visit) const {
  for (const auto& each : schedulers_) visit(*each);
}

State SequentialLR::state_dict() const {
  return states_of(LRScheduler::state_dict(), schedulers_);
}

void SequentialLR::load_state_dict(const State& dict) {
  const State::List& saved = parts_of(type_name(), dict, schedulers_);
  load_parts(schedulers_, saved, [&] { LRScheduler::load_state_dict(dict); });
}

void SequentialLR::check() const {
  LRScheduler::check();
  BP_CHECK(milestones_.size() + 1 == schedulers_.size(),
           "SequentialLR: {} schedulers and {} milestones; pass one milestone between two "
           "schedulers",
           schedulers_.size(), milestones_.size());
  BP_CHECK(std::is_sorted(milestones_.begin(), milestones_.end()),
           "SequentialLR: milestones do not rise; sort them");
}

ChainedScheduler::ChainedScheduler(Schedulers schedulers)
    : LRScheduler(
          (check_parts("ChainedScheduler", nullptr, schedulers), schedulers[0]->optimizer()),
          Later{}),
      schedulers_(std::move(schedulers)) {
  check_parts("ChainedScheduler", &optimizer(), schedulers_);
  last_lr_ = current_rates();
}

void ChainedScheduler::step() {
  const Whole whole(*this);
  for (const auto& each : schedulers_) each->step();
  last_lr_ = current_rates();
}

std::vector<double> ChainedScheduler::get_lr() {
  return current_rates();
}

void ChainedScheduler::undo() {
  for (const auto& each : schedulers_) each->undo();
}

void ChainedScheduler::restart() {
  for (const auto& each : schedulers_) each->restart();
  last_lr_ = current_rates();
}

Fields ChainedScheduler::fields() const {
  auto& own = const_cast<ChainedScheduler&>(*this);
  return Fields(type_name()).add("_last_lr", own.last_lr_);
}

void ChainedScheduler::each_part(const std::function<void(LRScheduler&)>& visit) const {
  for (const auto& each : schedulers_) visit(*each);
}

State ChainedScheduler::state_dict() const {
  return states_of(fields().state(), schedulers_);
}

void ChainedScheduler::load_state_dict(const State& dict) {
  const State::List& saved = parts_of(type_name(), dict, schedulers_);
  load_parts(schedulers_, saved, [&] {
    fields().load(dict, [&] {
      BP_CHECK(last_lr_.size() == optimizer().num_groups(),
               "ChainedScheduler: the state has {} numbers as _last_lr, and the optimizer {} "
               "parameter groups; is it the state of another run?",
               last_lr_.size(), optimizer().num_groups());
    });
  });
}

}  // namespace bp::optim
