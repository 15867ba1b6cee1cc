// Registers a kernel for each operator of PyTorch's that a row or a recipe can serve.
#include "operators.hpp"

#include <ATen/core/dispatch/Dispatcher.h>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <torch/library.h>
#include <unordered_map>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>

#include "call.hpp"
#include "direct.hpp"

namespace bp::bridge {
namespace {

struct Kernel final : c10::OperatorKernel {
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
    serve_call(*plans, op, stack);
  }
  // Tried in this order. Kept elsewhere, where more are added until all targets have been looked at.
  const std::vector<Plan>* plans = nullptr;
};

// "name.overload" in parts.
std::pair<std::string, std::string> split_name(const std::string& text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string::npos) return {text, ""};
  return {text.substr(0, dot), text.substr(dot + 1)};
}

std::vector<std::pair<std::string, std::string>> split_renamed(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::size_t equals = part.find('=');
    pairs.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    begin = end + 1;
  }
  return pairs;
}

// Recipes first: what they serve, rows do not.
const std::deque<Target>& targets() {
  static const auto* const all = [] {
    auto* made = new std::deque<Target>;
    ensure_operators();
    static const std::vector<Recipe> recipes = all_recipes();
    for (const Recipe& recipe : recipes) {
      Target& target = made->emplace_back();
      std::tie(target.name, target.overload) = split_name(recipe.aten);
      target.recipe = &recipe;
      auto schema = std::make_shared<Schema>();
      parse_schema(recipe.schema, *schema);
      target.own_schema = std::move(schema);
    }
    for (const NamedRow& named : named_rows()) {
      Operator* op = find_operator(named.row);
      if (!op || !op->schema) continue;
      Target& target = made->emplace_back();
      std::tie(target.name, target.overload) = split_name(named.aten);
      target.op = op;
      target.renamed = split_renamed(named.renamed);
    }
    return made;
  }();
  return *all;
}

using Overloads = std::unordered_map<std::string, std::vector<c10::OperatorHandle>>;

Overloads aten_operators() {
  Overloads found;
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (!name.name.starts_with("aten::")) continue;
    const std::optional<c10::OperatorHandle> op = dispatcher.findSchema(name);
    if (op) found[name.name.substr(6)].push_back(*op);
  }
  return found;
}

// PyTorch composes these itself, with their derivatives, which a kernel of ours would hide.
bool is_composite(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

// By operator with its overload; kernels point to the plans.
std::map<std::string, std::vector<Plan>>& served() {
  static auto* const all = new std::map<std::string, std::vector<Plan>>;
  return *all;
}

void serve(torch::Library& library, const Overloads& overloads, const Target& target) {
  for (const char* suffix : {"", "_"}) {
    const auto found = overloads.find(target.name + suffix);
    if (found == overloads.end()) continue;
    for (const c10::OperatorHandle& op : found->second) {
      const std::string& overload = op.operator_name().overload_name;
      const bool is_asked = target.overload.empty() || overload == target.overload ||
                            overload == target.overload + "_out" ||
                            (target.overload == "default" && overload.empty());
      if (!is_asked || is_composite(op)) continue;
      const std::string name = found->first + (overload.empty() ? "" : "." + overload);
      const bool is_last = target.recipe && target.recipe->last;
      const bool is_served = served().contains(name);
      if (is_served && !is_last) continue;
      std::optional<Plan> plan = make_plan(op.schema(), target);
      if (!plan) continue;
      std::vector<Plan>& plans = served()[name];
      plans.push_back(std::move(*plan));
      if (is_served) continue;
      if (std::optional<torch::CppFunction> direct = direct_kernel(op, plans)) {
        library.impl(name.c_str(), std::move(*direct));
        continue;
      }
      auto kernel = std::make_unique<Kernel>();
      kernel->plans = &plans;
      library.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::move(kernel)));
    }
  }
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  const Overloads overloads = aten_operators();
  for (const bool last : {false, true})
    for (const Target& target : targets())
      if ((target.recipe && target.recipe->last) == last) serve(library, overloads, target);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> served_operators() {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& [name, plans] : served()) {
    const Target& target = *plans[0].target;
    pairs.emplace_back(name, target.op ? target.op->name() : "recipe");
  }
  for (const auto& [name, row] : attention_operators) pairs.emplace_back(name, row);
  return pairs;
}

std::vector<std::string> unmatched_names() {
  std::set<const Target*> matched;
  for (const auto& [name, plans] : served())
    for (const Plan& plan : plans) matched.insert(plan.target);
  std::vector<std::string> names;
  for (const Target& target : targets()) {
    const bool by_default = target.op && target.name == target.op->name();
    if (!by_default && !matched.contains(&target))
      names.push_back(target.name + (target.overload.empty() ? "" : "." + target.overload));
  }
  return names;
}

}  // namespace bp::bridge
