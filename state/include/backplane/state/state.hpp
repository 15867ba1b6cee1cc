// What a program saves to continue later: a tree of tensors, numbers and text, by name.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <backplane/tensor/tensor.hpp>

namespace bp {

// None, a bool, an int64, a double, text, a tensor, a list of states, or a dict of states in the order in which they were
// put in: what optimizers, schedulers, samplers and checkpoints are made of. A copy shares the tensors.
//
// Reading a value as another kind throws bad_argument, naming both kinds. An integer reads as
// double as well.
class BP_API State {
 public:
  using List = std::vector<State>;
  using Entry = std::pair<std::string, State>;

  State() = default;  // None
  State(bool value) : value_(value) {}
  State(int value) : value_(static_cast<std::int64_t>(value)) {}
  State(std::int64_t value) : value_(value) {}
  State(double value) : value_(value) {}
  State(const char* value) : value_(std::string(value)) {}
  State(std::string value) : value_(std::move(value)) {}
  State(Tensor value) : value_(std::move(value)) {}
  State(List value) : value_(std::move(value)) {}
  static State dict(std::initializer_list<Entry> entries = {});

  bool is_none() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_tensor() const { return std::holds_alternative<Tensor>(value_); }
  bool is_list() const { return std::holds_alternative<List>(value_); }
  bool is_dict() const { return std::holds_alternative<Dict>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_int() const { return std::holds_alternative<std::int64_t>(value_); }
  bool is_double() const { return std::holds_alternative<double>(value_); }
  bool is_text() const { return std::holds_alternative<std::string>(value_); }
  // "a tensor", "a list", "a float" and so on, as sentences of errors have it.
  const char* kind() const;

  bool as_bool() const;
  std::int64_t as_int() const;
  double as_double() const;
  const std::string& as_text() const;
  const Tensor& as_tensor() const;
  const List& as_list() const;
  List& as_list();
  // The entries of a dict.
  const std::vector<Entry>& entries() const;

  // For a dict. `at` throws bad_argument if there is no such key, and names it; `find` gives null; `set` puts the value at
  // the end, or in the place of the existing one; on None it begins a dict.
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  const State* find(std::string_view key) const;
  const State& at(std::string_view key) const;
  void set(std::string key, State value);

  // The number of elements of a list or dict; 0 for anything else.
  std::size_t size() const;

 private:
  struct Dict {
    std::vector<Entry> entries;
  };

  std::variant<std::monostate, bool, std::int64_t, double, std::string, Tensor, List, Dict> value_;
};

}  // namespace bp
