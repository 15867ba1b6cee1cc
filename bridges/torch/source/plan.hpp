// How calls of one operator of PyTorch's become calls of a row or a recipe: found once from the two schemas, by the names of
// their arguments.
#pragma once

#include <ATen/core/function_schema.h>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <backplane/dispatcher/operator.hpp>

#include "recipe.hpp"

namespace bp::bridge {

// What serves the call: exactly one of `op` and `recipe`.
struct Target {
  std::string name;      // of PyTorch's operator
  std::string overload;  // empty: all
  Operator* op = nullptr;
  const Recipe* recipe = nullptr;
  std::shared_ptr<const Schema> own_schema;  // the recipe's
  // Pairs of PyTorch's name of an argument and ours, where they differ.
  std::vector<std::pair<std::string, std::string>> renamed;

  const Schema& schema() const { return op ? *op->schema : *own_schema; }
};

// One argument of the target.
struct Slot {
  ArgumentType type = ArgumentType::tensor;
  int from = -1;             // PyTorch's argument; -1: `value`, the default
  bool number_ok = false;    // of tensors
  bool indices = false;      // of lists: those of the CPU come along
  bool one_as_list = false;  // a number where the target takes a list
  bool empty_is_none = false;
  bool optional = false;  // None is a value of its own, not the default
  bp_value value{};
};

// An argument that the target does not know: the call is only for it while the argument has this value.
struct Expected {
  int from = 0;
  c10::IValue value;
};

enum class Form : std::uint8_t { functional, in_place, out };

struct Plan {
  const Target* target = nullptr;
  Form form = Form::functional;
  std::vector<Slot> slots;
  std::vector<Expected> expected;
  int num_arguments = 0;
  int num_results = 1;
  bool list_result = false;
  std::vector<int> outs;  // PyTorch's arguments that are written: results go there
};

// Nothing if the target cannot serve this overload.
std::optional<Plan> make_plan(const c10::FunctionSchema& theirs, const Target& target);

}  // namespace bp::bridge
