#include <cmath>

#include <backplane/core_ops/creation.hpp>
#include <backplane/optim/fields.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::optim {
namespace {

template <class T> State state_of_list(const T& numbers) {
  State::List list;
  for (const auto number : numbers) list.emplace_back(number);
  return list;
}

std::int64_t whole_number_of(const State& value, std::string_view what) {
  if (value.is_int()) return value.as_int();
  const double number = number_of(value, what);
  BP_CHECK(std::abs(number) <= 0x1p53 && std::trunc(number) == number,
           "{} is {}; it must be a whole number of at most 2^53", what, number);
  return static_cast<std::int64_t>(number);
}

const State::List& list_of(const State& value, std::string_view what) {
  BP_CHECK(value.is_list(), "{} is {}; pass a list of numbers", what, value.kind());
  return value.as_list();
}

template <std::size_t size>
std::array<double, size> numbers_of(const State& value, std::string_view what) {
  const State::List& list = list_of(value, what);
  BP_CHECK(list.size() == size, "{} has {} numbers; pass {}", what, list.size(), size);
  std::array<double, size> numbers;
  for (std::size_t i = 0; i < size; ++i) numbers[i] = number_of(list[i], what);
  return numbers;
}

// What a state holds, as the type of a member.
void convert(const State& value, std::string_view what, bool& out) {
  BP_CHECK(value.is_bool(), "{} is {}; pass a bool", what, value.kind());
  out = value.as_bool();
}
void convert(const State& value, std::string_view what, std::int64_t& out) {
  out = whole_number_of(value, what);
}
void convert(const State& value, std::string_view what, double& out) {
  out = number_of(value, what);
}
void convert(const State& value, std::string_view what, std::optional<std::int64_t>& out) {
  out = value.is_none() ? std::nullopt : std::optional(whole_number_of(value, what));
}
void convert(const State& value, std::string_view what, std::string& out) {
  BP_CHECK(value.is_text() || value.is_none(), "{} is {}; pass a text", what, value.kind());
  out = value.is_none() ? std::string() : value.as_text();
}
template <std::size_t size>
void convert(const State& value, std::string_view what, std::array<double, size>& out) {
  out = numbers_of<size>(value, what);
}
void convert(const State& value, std::string_view what, Fields::HalfDefault& out) {
  const State::List& list = list_of(value, what);
  BP_CHECK(list.size() == 2, "{} has {} numbers; pass 2", what, list.size());
  out.first = list[0].is_none() ? std::nullopt : std::optional<double>(number_of(list[0], what));
  out.second = number_of(list[1], what);
}
void convert(const State& value, std::string_view what, std::vector<double>& out) {
  out.clear();
  for (const State& each : list_of(value, what)) out.push_back(number_of(each, what));
}
void convert(const State& value, std::string_view what, std::vector<std::int64_t>& out) {
  out.clear();
  for (const State& each : list_of(value, what)) out.push_back(whole_number_of(each, what));
}

State as_state(bool value) {
  return value;
}
State as_state(std::int64_t value) {
  return value;
}
State as_state(double value) {
  return value;
}
State as_state(const std::optional<std::int64_t>& value) {
  return value ? State(*value) : State();
}
State as_state(const std::string& value) {
  return value.empty() ? State() : State(value);
}
template <std::size_t size> State as_state(const std::array<double, size>& value) {
  return state_of_list(value);
}
State as_state(const Fields::HalfDefault& value) {
  return State::List{value.first ? State(*value.first) : State(), value.second};
}
template <class T> State as_state(const std::vector<T>& value) {
  return state_of_list(value);
}

}  // namespace

double number_of(const State& value, std::string_view what) {
  if (value.is_tensor()) {
    BP_CHECK(value.as_tensor().defined() && value.as_tensor().numel() == 1,
             "{} is a tensor of several elements; pass a number", what);
    BP_CHECK(!is_complex(value.as_tensor().dtype()), "{} is {}; pass a real number", what,
             name(value.as_tensor().dtype()));
    return item<double>(value.as_tensor());
  }
  BP_CHECK(value.is_int() || value.is_double(), "{} is {}; pass a number", what, value.kind());
  return value.as_double();
}

const Fields::Field* Fields::find(std::string_view name) const {
  for (const Field& each : all_)
    if (each.name == name) return &each;
  return nullptr;
}

const Fields::Field& Fields::at(std::string_view name) const {
  const Field* found = find(name);
  BP_CHECK(found, "{}: no option '{}'", owner_, name);
  return *found;
}

State Fields::read(std::string_view name) const {
  return std::visit([](const auto* member) { return as_state(*member); }, at(name).member);
}

void Fields::write(std::string_view name, const State& value) const {
  const std::string what = fmt::format("{}: '{}'", owner_, name);
  std::visit([&](auto* member) { convert(value, what, *member); }, at(name).member);
}

void Fields::check(std::string_view name, const State& value) const {
  const std::string what = fmt::format("{}: '{}'", owner_, name);
  std::visit(
      [&](const auto* member) {
        std::remove_const_t<std::remove_pointer_t<decltype(member)>> unused{};
        convert(value, what, unused);
      },
      at(name).member);
}

State Fields::state() const {
  State made = State::dict();
  for (const Field& each : all_) made.set(each.name, read(each.name));
  return made;
}

void Fields::load(const State& dict, const std::function<void()>& check) const {
  for (const Field& each : all_)
    if (const State* value = dict.find(each.name)) this->check(each.name, *value);
  const State before = state();
  for (const Field& each : all_)
    if (const State* value = dict.find(each.name)) write(each.name, *value);
  if (!check) return;
  try {
    check();
  } catch (...) {
    for (const Field& each : all_) write(each.name, before.at(each.name));
    throw;
  }
}

}  // namespace bp::optim
