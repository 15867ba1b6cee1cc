// Chains begin at a pointwise node and go on while its result is read by one pointwise node alone.
#include "chains.hpp"

#include <algorithm>
#include <unordered_map>

#include <backplane/backplane.hpp>
#include <backplane/dispatcher/chain.hpp>
#include <backplane/dispatcher/registry.hpp>

namespace bp::onnx {
namespace {

struct Known {
  int inputs, since;
  const char* row;
};

// Operators that are rows of the same meaning in float32, without attributes.
const std::unordered_map<std::string, Known>& known() {
  static const std::unordered_map<std::string, Known> once{
      {"Add", {2, 7, "add"}},   {"Sum", {2, 6, "add"}},         {"Sub", {2, 7, "sub"}},
      {"Mul", {2, 7, "mul"}},   {"Div", {2, 7, "div"}},         {"Relu", {1, 6, "relu"}},
      {"Sqrt", {1, 6, "sqrt"}}, {"Sigmoid", {1, 6, "sigmoid"}}, {"Tanh", {1, 6, "tanh"}},
      {"Exp", {1, 6, "exp"}},   {"Neg", {1, 6, "neg"}},         {"Abs", {1, 6, "abs"}}};
  return once;
}

bool is_float(const GraphValue& value) {
  return value.facts.exists && value.facts.dtype == f32;
}

class Builder {
 public:
  // False, with nothing added, where the node is not such a step. `value`: what the step before makes, if there is one.
  bool add(const GraphNode& node, const std::string& value) {
    if (!is_of_onnx(node) || node.outputs.size() != 1 || !is_float(node.outputs[0])) return false;
    for (const GraphValue& each : node.inputs)
      if (each.facts.exists && !is_float(each)) return false;
    const std::size_t steps = steps_.size(), inputs = inputs_.size();
    if (add_known(node, value) || add_limits(node, value) || add_hard_sigmoid(node, value)) {
      if (steps_.size() <= most_steps && inputs_.size() <= max_chain_arguments) return true;
    }
    steps_.resize(steps);
    inputs_.resize(inputs);
    return false;
  }

  std::size_t num_steps() const { return steps_.size(); }
  const std::vector<const GraphValue*>& inputs() const { return inputs_; }
  // Empty where the core cannot join them.
  Chain chain() const {
    try {
      return join(steps_);
    } catch (const Error&) {
      return {};
    }
  }

 private:
  static constexpr std::size_t most_steps = 16;

  ChainInput last() const {
    return ChainInput::step(static_cast<std::uint32_t>(steps_.size()) - 1);
  }
  ChainInput input(const GraphValue& value, const std::string& before) {
    if (!before.empty() && value.name == before) return last();
    if (const auto number = number_of(value)) return ChainInput::number(*number);
    const auto found = std::find_if(inputs_.begin(), inputs_.end(), [&](const GraphValue* each) {
      return each->name == value.name;
    });
    const auto place = static_cast<std::uint32_t>(found - inputs_.begin());
    if (found == inputs_.end()) inputs_.push_back(&value);
    return ChainInput::argument(place);
  }
  void add_step(const char* row, std::vector<ChainInput> inputs) {
    steps_.push_back({find_operator(row), std::move(inputs)});
  }

  bool add_known(const GraphNode& node, const std::string& value) {
    const auto found = known().find(node.type);
    if (found == known().end() || node.version < found->second.since) return false;
    if (node.inputs.size() != static_cast<std::size_t>(found->second.inputs)) return false;
    std::vector<ChainInput> inputs;
    for (const GraphValue& each : node.inputs) inputs.push_back(input(each, value));
    // A constant of one element may have more dimensions than the rest, which a number would lose.
    for (const GraphValue& each : node.inputs)
      if (each.constant && each.facts.ndim > node.outputs[0].facts.ndim) return false;
    if (inputs[0].from == ChainInput::From::number) return false;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].from == ChainInput::From::number &&
          !is_no_larger(node.inputs[i], node.inputs[1 - i]))
        return false;
    add_step(found->second.row, std::move(inputs));
    return true;
  }
  static bool is_no_larger(const GraphValue& number, const GraphValue& other) {
    return other.facts.ndim >= 0 && number.facts.ndim <= other.facts.ndim;
  }

  bool add_limits(const GraphNode& node, const std::string& value) {
    const auto limits = limits_of(node);
    if (!limits || (!limits->min && !limits->max)) return false;
    ChainInput from = input(node.inputs[0], value);
    if (from.from == ChainInput::From::number) return false;
    if (limits->min) {
      add_step("clamp_min", {from, ChainInput::number(*limits->min)});
      from = last();
    }
    if (limits->max) add_step("clamp_max", {from, ChainInput::number(*limits->max)});
    return true;
  }

  bool add_hard_sigmoid(const GraphNode& node, const std::string& value) {
    if (node.type != "HardSigmoid" || node.version < 6) return false;
    const auto number = [&](std::string_view name, double usual) {
      const Attribute* const found = find_attribute(node, name);
      return ChainInput::number(found && found->reals.size() == 1 ? found->reals[0] : usual);
    };
    const ChainInput from = input(node.inputs[0], value);
    if (from.from == ChainInput::From::number) return false;
    add_step("mul", {from, number("alpha", 0.2f)});
    add_step("add", {last(), number("beta", 0.5)});
    add_step("clamp_min", {last(), ChainInput::number(0.0)});
    add_step("clamp_max", {last(), ChainInput::number(1.0)});
    return true;
  }

  std::vector<ChainStep> steps_;
  std::vector<const GraphValue*> inputs_;
};

class JoinedSteps : public Action {
 public:
  JoinedSteps(Chain chain, std::string name) : chain_(std::move(chain)) { name_ = std::move(name); }

  // Pictures whose channels lie last stay so, also beside what is broadcast.
  void run(std::span<Value* const> inputs, std::span<Value> results) const override {
    bool all_are_pictures = true, has_channels_last = false;
    for (const Value* each : inputs) {
      const Tensor& tensor = each->tensor;
      all_are_pictures &= tensor.ndim() == 4;
      has_channels_last |= tensor.ndim() == 4 && !tensor.is_contiguous() &&
                           tensor.is_contiguous(MemoryFormat::channels_last);
    }
    const bool turns = all_are_pictures && has_channels_last;
    Tensor tensors[max_chain_arguments];
    bp_value values[max_chain_arguments];
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      tensors[i] = turns ? permute(inputs[i]->tensor, {0, 2, 3, 1}) : inputs[i]->tensor;
      values[i] = value_of(tensors[i]);
    }
    const Tensor made = call_chain(chain_, values, static_cast<std::uint32_t>(inputs.size()));
    results[0].tensor = turns ? permute(made, {0, 3, 1, 2}) : made;
  }

 private:
  Chain chain_;
};

}  // namespace

std::vector<FusedNodes> join_pointwise(const std::vector<GraphNode>& nodes, const Readers& readers,
                                       bool has_pictures, std::vector<bool>& taken) {
  std::vector<FusedNodes> all;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (taken[i]) continue;
    Builder builder;
    if (!builder.add(nodes[i], "")) continue;
    FusedNodes fused{{i}, {}, nullptr};
    for (;;) {
      const std::string& value = nodes[fused.nodes.back()].outputs[0].name;
      const auto next = readers.only(value);
      if (!next || taken[*next] || !builder.add(nodes[*next], value)) break;
      fused.nodes.push_back(*next);
    }
    // Alone, a node is a call of its row; but a chain keeps the order of pictures beside what is broadcast.
    const bool broadcasts =
        has_pictures && builder.inputs().size() > 1 && nodes[i].outputs[0].facts.ndim == 4;
    if (builder.num_steps() < 2 && !broadcasts) continue;
    Chain chain = builder.chain();
    if (!chain || builder.inputs().empty()) continue;
    fused.inputs = builder.inputs();
    const GraphNode& node = nodes[i];
    std::string name = name_of(node);
    if (fused.nodes.size() > 1) name += " and what follows it";
    fused.action = std::make_unique<JoinedSteps>(std::move(chain), std::move(name));
    for (const std::size_t each : fused.nodes) taken[each] = true;
    all.push_back(std::move(fused));
  }
  return all;
}

}  // namespace bp::onnx
