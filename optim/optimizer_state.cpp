// States of optimizers, in PyTorch's layout.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/dispatcher/host_device.hpp>
#include <backplane/optim/optimizer.hpp>
#include <backplane/tensor/check.hpp>

#include "lists.hpp"
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

// A number that a step can go on from.
double kept_number(const State& value, std::string_view name, const std::string& what) {
  const double number = number_of(value, what);
  BP_CHECK(std::isfinite(number), "{} is {}; it must be finite", what, number);
  BP_CHECK(name != step_key || (number >= 0 && number <= 0x1p53 && std::trunc(number) == number),
           "{} is {}; it must be a whole number from 0 to 2^53", what, number);
  return number;
}

bool names_any(const std::vector<const char*>& names, std::string_view key) {
  return std::any_of(names.begin(), names.end(), [&](const char* each) { return key == each; });
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

Tensor Optimizer::loaded_tensor(const State& value, std::size_t place, const Tensor& parameter,
                                const std::string& what) const {
  BP_CHECK(value.is_tensor() && value.as_tensor().defined(), "{} is {}; pass a tensor", what,
           value.kind());
  const Tensor& kept = value.as_tensor();
  const Dims shape = kept_shape(place, parameter);
  BP_CHECK(kept.shape() == IntList(shape),
           "{} has shape {} and belongs to one of {}; is it the state of another model?", what,
           to_string(kept.shape()), to_string(IntList(shape)));
  BP_CHECK(is_complex(kept.dtype()) == is_complex(parameter.dtype()) &&
               is_floating(kept.dtype()) == is_floating(parameter.dtype()),
           "{} is {} and belongs to a parameter of {}; is it the state of another model?", what,
           name(kept.dtype()), name(parameter.dtype()));
  return clone(to(kept, parameter.device(), parameter.dtype()));
}

ParamState Optimizer::loaded_state(const State& saved, std::size_t group, std::size_t index) const {
  const Tensor& parameter = groups_[group].params[index];
  const Layout& names = layout();
  ParamState made;
  if (saved.entries().empty()) return made;
  made.tensors.resize(names.tensors.size());
  made.numbers.resize(names.numbers.size());
  std::size_t num_known = 0;
  const auto read = [&](std::string_view name, bool is_needed, const auto& take) {
    const State* value = saved.find(name);
    BP_CHECK(value || !is_needed,
             "{}: the state of parameter {} has no '{}', only: {}; is it the state of another "
             "optimizer?",
             type_name(), index, name, keys_of(saved));
    if (!value) return;
    ++num_known;
    const std::string what = fmt::format("{}: '{}' of parameter {}", type_name(), name, index);
    take(*value, what);
  };
  if (names.counts_on_device)
    read(step_key, true, [&](const State& value, const std::string& what) {
      made.count = std::make_shared<StepCount>();
      made.count->value = full({}, kept_number(value, step_key, what), f32, parameter.device());
      made.count->users = 1;
    });
  for (std::size_t place = 0; place < names.numbers.size(); ++place)
    read(names.numbers[place], true, [&](const State& value, const std::string& what) {
      made.numbers[place] = kept_number(value, names.numbers[place], what);
    });
  for (std::size_t place = 0; place < names.tensors.size(); ++place)
    read(names.tensors[place], needs(group, place) && is_kept(place, parameter),
         [&](const State& value, const std::string& what) {
           if (!value.is_none()) made.tensors[place] = loaded_tensor(value, place, parameter, what);
         });
  if (num_known == saved.size()) return made;
  for (const auto& [key, value] : saved.entries())
    BP_CHECK(value.is_none() || (names.counts_on_device && key == step_key) ||
                 names_any(names.numbers, key) || names_any(names.tensors, key),
             "{}: '{}' of parameter {} is not part of the state of {}; is it the state of another "
             "optimizer?",
             type_name(), key, index, type_name());
  return made;
}

// By group and place. Each number of a saved parameter is one of ours.
std::vector<std::vector<ParamState>> Optimizer::loaded_states(const State& dict) const {
  std::map<std::int64_t, Position> positions;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const State::List& params = dict.at("param_groups").as_list()[group].at(params_key).as_list();
    BP_CHECK(params.size() == groups_[group].params.size(),
             "{}: parameter group {} has {} parameters in the state and {} in the optimizer; is it "
             "the state of another model?",
             type_name(), group, params.size(), groups_[group].params.size());
    for (std::size_t i = 0; i < params.size(); ++i)
      BP_CHECK(positions.emplace(params[i].as_int(), Position{group, i}).second,
               "{}: the state has parameter {} twice; save it again", type_name(),
               params[i].as_int());
  }
  std::vector<std::vector<ParamState>> made;
  for (const Group& group : groups_) made.emplace_back(group.states.size());
  if (layout().tensors.empty()) return made;
  std::map<std::pair<std::uint32_t, double>, std::shared_ptr<StepCount>> counts;
  for (const auto& [key, value] : dict.at("state").entries()) {
    const auto found = positions.find(number_of_key(key));
    BP_CHECK(found != positions.end(),
             "{}: the state of parameter '{}' belongs to none of the groups' parameters, or to one "
             "that has a state already",
             type_name(), key);
    const auto [group, index] = found->second;
    positions.erase(found);
    ParamState& kept = made[group][index] = loaded_state(value, group, index);
    if (!kept.count) continue;
    // Parameters at the same step count together from here on.
    const Device device = groups_[group].params[index].device();
    std::shared_ptr<StepCount>& shared =
        counts[{device.number, number_of(value.at(step_key), step_key)}];
    if (shared)
      ++shared->users;
    else
      shared = kept.count;
    kept.count = shared;
  }
  return made;
}

void Optimizer::load_state_dict(const State& dict) {
  const Apart apart;
  const State::List& saved_groups = dict.at("param_groups").as_list();
  BP_CHECK(saved_groups.size() == groups_.size(),
           "{}: the state has {} parameter groups and the optimizer {}; make the same groups first",
           type_name(), saved_groups.size(), groups_.size());
  dict.at("state").entries();
  State::List before;
  for (std::size_t group = 0; group < groups_.size(); ++group)
    before.push_back(fields(group).state());
  std::vector<std::vector<ParamState>> made;
  try {
    for (std::size_t group = 0; group < groups_.size(); ++group)
      fields(group).load(saved_groups[group], [&] { check_group(group); });
    made = loaded_states(dict);  // by the options, which say what is kept
    if (layout().tensors.empty()) load_more(dict.at("state"));
  } catch (...) {
    for (std::size_t group = 0; group < groups_.size(); ++group) fields(group).load(before[group]);
    throw;
  }
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    groups_[group].states = std::move(made[group]);
    const Fields own = fields(group);
    for (const auto& [key, value] : saved_groups[group].entries())
      if (!own.contains(key) && key != params_key) groups_[group].extras.set(key, value);
  }
}

}  // namespace bp::optim
