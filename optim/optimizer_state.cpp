// States of optimizers, in PyTorch's layout.
#include <charconv>
#include <map>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/dispatcher/host_device.hpp>
#include <backplane/optim/optimizer.hpp>
#include <backplane/tensor/check.hpp>

#include "step_count.hpp"

namespace bp::optim {
namespace {

constexpr std::string_view step_key = "step", params_key = "params";

std::string keys_of(const State& dict) {
  std::string all;
  for (const auto& [key, value] : dict.entries()) all += (all.empty() ? "" : ", ") + key;
  return all;
}

// Where a saved number stands: a group and a place in it.
struct Position {
  std::size_t group, index;
};

std::int64_t number_of_key(const std::string& key) {
  std::int64_t number = -1;
  const char* end = key.data() + key.size();
  const auto [rest, code] = std::from_chars(key.data(), end, number);
  return code == std::errc() && rest == end ? number : -1;
}

}  // namespace

void Optimizer::save_more(State&) const {}

void Optimizer::load_more(const State&) {}

State Optimizer::state_of(const ParamState& kept) const {
  State made = State::dict();
  const Layout& names = layout();
  if (kept.count) made.set(std::string(step_key), kept.count->value);
  for (std::size_t place = 0; place < kept.numbers.size(); ++place)
    made.set(
        names.numbers[place],
        full({}, kept.numbers[place], names.numbers[place] == step_key ? f32 : f64, host_device()));
  for (std::size_t place = 0; place < kept.tensors.size(); ++place)
    if (kept.tensors[place].defined()) made.set(names.tensors[place], kept.tensors[place]);
  return made;
}

State Optimizer::state_dict() const {
  State state = State::dict();
  State::List groups;
  std::int64_t number = 0;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    State::List params;
    for (const ParamState& kept : groups_[group].states) {
      if (State own = state_of(kept); own.size() > 0) state.set(std::to_string(number), own);
      params.emplace_back(number++);
    }
    State saved = fields(group).state();
    for (const auto& [key, value] : groups_[group].extras.entries()) saved.set(key, value);
    saved.set(std::string(params_key), params);
    groups.push_back(std::move(saved));
  }
  save_more(state);
  return State::dict({{"state", state}, {"param_groups", groups}});
}

ParamState Optimizer::loaded_state(const State& saved, std::size_t index,
                                   const Tensor& parameter) const {
  const Layout& names = layout();
  ParamState made;
  made.tensors.resize(names.tensors.size());
  std::vector<bool> has_number(names.numbers.size());
  made.numbers.resize(names.numbers.size());
  for (const auto& [key, value] : saved.entries()) {
    const std::string what = fmt::format("{}: '{}' of parameter {}", type_name(), key, index);
    if (value.is_none()) continue;
    if (names.counts_on_device && key == step_key) {
      made.count = std::make_shared<StepCount>();
      made.count->value = full({}, number_of(value, what), f32, parameter.device());
      made.count->users = 1;
      continue;
    }
    bool is_known = false;
    for (std::size_t place = 0; place < names.numbers.size(); ++place)
      if (key == names.numbers[place]) {
        made.numbers[place] = number_of(value, what);
        is_known = has_number[place] = true;
      }
    for (std::size_t place = 0; place < names.tensors.size(); ++place) {
      if (key != names.tensors[place]) continue;
      is_known = true;
      const Tensor& kept = value.as_tensor();
      const Dims shape = kept_shape(place, parameter);
      BP_CHECK(kept.defined() && kept.shape() == IntList(shape),
               "{} has shape {} and belongs to one of {}; is it the state of another model?", what,
               kept.defined() ? to_string(kept.shape()) : "none", to_string(IntList(shape)));
      made.tensors[place] = clone(to(kept, parameter.device(), parameter.dtype()));
    }
    BP_CHECK(is_known, "{} is nothing that {} keeps; is it the state of another optimizer?", what,
             type_name());
  }
  for (std::size_t place = 0; place < has_number.size(); ++place)
    BP_CHECK(has_number[place] || saved.size() == 0,
             "{}: the state of parameter {} has no '{}', only: {}; is it the state of another "
             "optimizer?",
             type_name(), index, names.numbers[place], keys_of(saved));
  BP_CHECK(made.count || !names.counts_on_device || saved.size() == 0,
           "{}: the state of parameter {} has no 'step', only: {}; is it the state of another "
           "optimizer?",
           type_name(), index, keys_of(saved));
  return made;
}

void Optimizer::load_state_dict(const State& dict) {
  const NoGrad no_grad;
  const State::List& saved_groups = dict.at("param_groups").as_list();
  BP_CHECK(saved_groups.size() == groups_.size(),
           "{}: the state has {} parameter groups and the optimizer {}; make the same groups first",
           type_name(), saved_groups.size(), groups_.size());
  std::map<std::int64_t, Position> positions;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const State& saved = saved_groups[group];
    const State::List& params = saved.at(params_key).as_list();
    BP_CHECK(params.size() == groups_[group].params.size(),
             "{}: parameter group {} has {} parameters in the state and {} in the optimizer; is it "
             "the state of another model?",
             type_name(), group, params.size(), groups_[group].params.size());
    for (std::size_t i = 0; i < params.size(); ++i) positions[params[i].as_int()] = {group, i};
    const Fields own = fields(group);
    for (const auto& [key, value] : saved.entries())
      if (own.contains(key)) own.check(key, value);
  }

  // All that can be refused comes before anything is changed.
  std::vector<std::vector<ParamState>> made;
  for (const Group& group : groups_) made.emplace_back(group.states.size());
  std::map<std::pair<std::uint32_t, double>, std::shared_ptr<StepCount>> counts;
  const bool keeps_any = !layout().tensors.empty();
  for (const auto& [key, value] : dict.at("state").entries()) {
    if (!keeps_any) break;
    const auto found = positions.find(number_of_key(key));
    BP_CHECK(found != positions.end(),
             "{}: the state of parameter '{}' belongs to none of the groups' parameters",
             type_name(), key);
    const auto [group, index] = found->second;
    const Tensor& parameter = groups_[group].params[index];
    ParamState kept = loaded_state(value, index, parameter);
    if (kept.count) {  // parameters at the same step count together from here on
      const double step = number_of(value.at(step_key), step_key);
      std::shared_ptr<StepCount>& shared = counts[{parameter.device().number, step}];
      if (shared)
        ++shared->users;
      else
        shared = kept.count;
      kept.count = shared;
    }
    made[group][index] = std::move(kept);
  }

  if (!keeps_any) load_more(dict.at("state"));
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    groups_[group].states = std::move(made[group]);
    const Fields own = fields(group);
    for (const auto& [key, value] : saved_groups[group].entries()) {
      if (own.contains(key))
        own.write(key, value);
      else if (key != params_key)
        groups_[group].extras.set(key, value);
    }
  }
}

}  // namespace bp::optim
