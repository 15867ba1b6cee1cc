// The members of a struct under the names that PyTorch has for them: how options and states are read by name.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <backplane/state/state.hpp>

namespace bp::optim {

// A number in a state: an int, a float, or a tensor of one element (which waits for its device).
// `what` names it in errors.
BP_API double number_of(const State& value, std::string_view what);

// Borrows the members; they outlive it.
class BP_API Fields {
 public:
  using Pair = std::array<double, 2>;
  using Triple = std::array<double, 3>;
  using HalfDefault = std::pair<std::optional<double>, double>;
  // An empty text and an absent number are None in a state.
  using Member =
      std::variant<bool*, std::int64_t*, double*, std::optional<std::int64_t>*, std::string*, Pair*,
                   Triple*, HalfDefault*, std::vector<double>*, std::vector<std::int64_t>*>;

  // `owner` begins the sentences of errors.
  explicit Fields(std::string owner) : owner_(std::move(owner)) {}
  template <class T> Fields& add(std::string name, T& member) {
    all_.push_back({std::move(name), &member});
    return *this;
  }

  bool contains(std::string_view name) const { return find(name) != nullptr; }
  // Throw bad_argument for an unknown name, and `write` and `check` for a value of another kind, with both kinds.
  State read(std::string_view name) const;
  void write(std::string_view name, const State& value) const;
  // Throws what `write` would throw; writes nothing.
  void check(std::string_view name, const State& value) const;

  // All of them, as a dict; and back: a name that `dict` lacks keeps its value. Nothing is written if one is refused, or if
  // `check`, which sees what was written, throws.
  State state() const;
  void load(const State& dict, const std::function<void()>& check = {}) const;

 private:
  struct Field {
    std::string name;
    Member member;
  };
  const Field* find(std::string_view name) const;
  const Field& at(std::string_view name) const;

  std::string owner_;
  std::vector<Field> all_;
};

}  // namespace bp::optim
