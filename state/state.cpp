#include <algorithm>

#include <backplane/state/state.hpp>
#include <backplane/tensor/check.hpp>

namespace bp {
namespace {

constexpr const char* kinds[] = {"None",   "a bool",   "an int", "a float",
                                 "a text", "a tensor", "a list", "a dict"};

template <class Wanted, class Value>
auto& value_as(Value& value, const State& state, const char* wanted) {
  auto* held = std::get_if<Wanted>(&value);
  BP_CHECK(held, "state: expected {} and found {}; is the state that of another object?", wanted,
           state.kind());
  return *held;
}

}  // namespace

State State::dict(std::initializer_list<Entry> entries) {
  State made;
  made.value_ = Dict{};
  for (const auto& [key, value] : entries) made.set(key, value);
  return made;
}

const char* State::kind() const {
  return kinds[value_.index()];
}

bool State::as_bool() const {
  return value_as<bool>(value_, *this, "a bool");
}

std::int64_t State::as_int() const {
  return value_as<std::int64_t>(value_, *this, "an int");
}

double State::as_double() const {
  if (const auto* integer = std::get_if<std::int64_t>(&value_))
    return static_cast<double>(*integer);
  return value_as<double>(value_, *this, "a float");
}

const std::string& State::as_text() const {
  return value_as<std::string>(value_, *this, "a text");
}

const Tensor& State::as_tensor() const {
  return value_as<Tensor>(value_, *this, "a tensor");
}

const State::List& State::as_list() const {
  return value_as<List>(value_, *this, "a list");
}

State::List& State::as_list() {
  return value_as<List>(value_, *this, "a list");
}

const std::vector<State::Entry>& State::entries() const {
  return value_as<Dict>(value_, *this, "a dict").entries;
}

const State* State::find(std::string_view key) const {
  const auto& all = entries();
  const auto place =
      std::find_if(all.begin(), all.end(), [&](const Entry& entry) { return entry.first == key; });
  return place == all.end() ? nullptr : &place->second;
}

const State& State::at(std::string_view key) const {
  const State* found = find(key);
  BP_CHECK(found, "state: no '{}' among {} entries; is the state that of another object?", key,
           size());
  return *found;
}

void State::set(std::string key, State value) {
  if (is_none()) value_ = Dict{};
  auto& all = value_as<Dict>(value_, *this, "a dict").entries;
  const auto place =
      std::find_if(all.begin(), all.end(), [&](const Entry& entry) { return entry.first == key; });
  if (place == all.end())
    all.emplace_back(std::move(key), std::move(value));
  else
    place->second = std::move(value);
}

std::size_t State::size() const {
  if (const auto* list = std::get_if<List>(&value_)) return list->size();
  if (const auto* dict = std::get_if<Dict>(&value_)) return dict->entries.size();
  return 0;
}

}  // namespace bp
