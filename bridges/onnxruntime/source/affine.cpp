// In double precision, so that a row of constants loses nothing but the last rounding.
#include "affine.hpp"

#include <algorithm>
#include <cmath>

#include <backplane/backplane.hpp>
#include <backplane/dispatcher/chain.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/runtime/allocator.hpp>

namespace bp::onnx {
namespace {

std::vector<double> reals_of(const GraphValue& value) {
  const Tensor constant = borrow(value.constant, host_device());
  std::vector<float> numbers(static_cast<std::size_t>(constant.numel()));
  if (!numbers.empty()) copy_to_host_memory(constant, numbers.data());
  return {numbers.begin(), numbers.end()};
}

bool are_finite(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double each) {
    return std::isfinite(each) && std::isfinite(static_cast<float>(each));
  });
}

class ScaledChannels : public Action {
 public:
  ScaledChannels(const ChannelAffine& affine, const Limits& limits, Device device, std::string name)
      : factors_(to(affine.factors(), device)), summands_(to(affine.applied_to({}), device)) {
    name_ = std::move(name);
    std::vector<ChainStep> steps;
    const auto last = [&] {
      return ChainInput::step(static_cast<std::uint32_t>(steps.size()) - 1);
    };
    steps.push_back({find_operator("mul"), {ChainInput::argument(0), ChainInput::argument(1)}});
    steps.push_back({find_operator("add"), {last(), ChainInput::argument(2)}});
    if (limits.min)
      steps.push_back({find_operator("clamp_min"), {last(), ChainInput::number(*limits.min)}});
    if (limits.max)
      steps.push_back({find_operator("clamp_max"), {last(), ChainInput::number(*limits.max)}});
    chain_ = join(steps);
  }

  void run(std::span<Value* const> inputs, std::span<Value> results) const override {
    const Tensor& input = inputs[0]->tensor;
    const bool turns = input.ndim() == 4 && !input.is_contiguous() &&
                       input.is_contiguous(MemoryFormat::channels_last);
    Dims each(static_cast<std::uint32_t>(turns ? 1 : input.ndim() - 1), 1);
    each[0] = factors_.size(0);
    const Tensor from = turns ? permute(input, {0, 2, 3, 1}) : input,
                 factors = reshape(factors_, each), summands = reshape(summands_, each);
    bp_value values[] = {value_of(from), value_of(factors), value_of(summands)};
    const Tensor made = call_chain(chain_, values, 3);
    results[0].tensor = turns ? permute(made, {0, 3, 1, 2}) : made;
  }

 private:
  Tensor factors_, summands_;
  Chain chain_;
};

// What else an addition adds to the result of `before`: of the same rank, and known only when it runs. Null: it is something else.
const GraphValue* summand(const GraphNode& node, const GraphNode& before) {
  const GraphValue& value = before.outputs[0];
  if (!is_addition(node)) return nullptr;
  const GraphValue& other = node.inputs[node.inputs[0].name == value.name ? 1 : 0];
  const bool fits = other.facts.dtype == f32 && other.facts.ndim == value.facts.ndim &&
                    !other.constant && other.name != value.name;
  return fits ? &other : nullptr;
}

Tensor on_host(const std::vector<double>& numbers) {
  return to(tensor(numbers, {.dtype = f64, .device = host_device()}), f32);
}

}  // namespace

std::optional<ChannelAffine::Numbers> ChannelAffine::numbers_of(const GraphValue& value,
                                                                std::int64_t rank) const {
  // A product whose rank nobody knows has one dimension at least.
  const std::int64_t most = place_ == last ? std::max<std::int64_t>(rank, 1) : rank;
  if (!value.constant || value.facts.dtype != f32 || value.facts.ndim > most) return std::nullopt;
  // Broadcast from the right.
  const std::int64_t channels_at = value.facts.ndim - (place_ == last ? 1 : rank - 1);
  std::int64_t numel = 1;
  for (std::size_t i = 0; i < value.facts.shape.size(); ++i) {
    const std::int64_t size = value.facts.shape[i];
    const bool is_channels = static_cast<std::int64_t>(i) == channels_at &&
                             size == static_cast<std::int64_t>(factors_.size());
    if (size != 1 && !is_channels) return std::nullopt;
    numel *= size;
  }
  Numbers numbers = reals_of(value);
  if (numel == 1) numbers.assign(factors_.size(), numbers.at(0));
  return numbers;
}

std::optional<ChannelAffine::Numbers> ChannelAffine::list_of(const GraphValue& value) const {
  if (!value.constant || value.facts.dtype != f32 || value.facts.ndim != 1) return std::nullopt;
  Numbers numbers = reals_of(value);
  return numbers.size() == factors_.size() ? std::optional(numbers) : std::nullopt;
}

bool ChannelAffine::add_normalization(const GraphNode& node, const std::string& value) {
  if (node.version < 7 || node.inputs.size() != 5 || node.inputs[0].name != value) return false;
  if (int_of(node, "training_mode", 0) != 0 || int_of(node, "spatial", 1) == 0) return false;
  const auto scale = list_of(node.inputs[1]), bias = list_of(node.inputs[2]),
             mean = list_of(node.inputs[3]), variance = list_of(node.inputs[4]);
  if (!scale || !bias || !mean || !variance) return false;
  const double epsilon = real_of(node, "epsilon", 1e-5);
  Numbers factors = factors_, summands = summands_;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double factor = (*scale)[i] / std::sqrt((*variance)[i] + epsilon);
    factors[i] *= factor;
    summands[i] = (summands[i] - (*mean)[i]) * factor + (*bias)[i];
  }
  if (!are_finite(factors) || !are_finite(summands)) return false;
  factors_ = std::move(factors), summands_ = std::move(summands);
  return true;
}

bool ChannelAffine::add(const GraphNode& node, const std::string& value) {
  if (!is_of_onnx(node) || node.outputs.size() != 1) return false;
  if (node.type == "BatchNormalization")
    return (place_ == second || node.outputs[0].facts.ndim == 2) && add_normalization(node, value);
  const bool adds = node.type == "Add", takes = node.type == "Sub", divides = node.type == "Div";
  if (!adds && !takes && !divides && node.type != "Mul") return false;
  if (node.version < 7 || node.inputs.size() != 2) return false;
  const bool is_first = node.inputs[0].name == value;
  if (!is_first && divides) return false;
  const std::optional<Numbers> constant =
      numbers_of(node.inputs[is_first ? 1 : 0], node.outputs[0].facts.ndim);
  if (!constant || node.inputs[0].name == node.inputs[1].name) return false;
  Numbers factors = factors_, summands = summands_;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double number = (*constant)[i];
    if (adds || takes) {
      if (takes && !is_first) factors[i] = -factors[i], summands[i] = -summands[i];
      summands[i] += takes && is_first ? -number : number;
    } else {
      factors[i] = divides ? factors[i] / number : factors[i] * number;
      summands[i] = divides ? summands[i] / number : summands[i] * number;
    }
  }
  if (!are_finite(factors) || !are_finite(summands) || !are_finite(*constant)) return false;
  factors_ = std::move(factors), summands_ = std::move(summands);
  return true;
}

bool ChannelAffine::is_identity() const {
  const auto is_all = [](const Numbers& numbers, double value) {
    return std::all_of(numbers.begin(), numbers.end(), [=](double each) { return each == value; });
  };
  return is_all(factors_, 1) && is_all(summands_, 0);
}

Tensor ChannelAffine::factors() const {
  return on_host(factors_);
}

Tensor ChannelAffine::applied_to(const Tensor& bias) const {
  Numbers sums = summands_;
  if (bias.defined()) {
    std::vector<float> own(sums.size());
    copy_to_host_memory(bias, own.data());
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += factors_[i] * double{own[i]};
  }
  return on_host(sums);
}

void take_affine(const std::vector<GraphNode>& nodes, const Readers& readers,
                 const std::vector<bool>& taken, FusedNodes& fused, ChannelAffine& affine) {
  for (;;) {
    const std::string& value = nodes[fused.nodes.back()].outputs[0].name;
    const auto next = readers.only(value);
    if (!next || taken[*next] || !affine.add(nodes[*next], value)) return;
    fused.nodes.push_back(*next);
  }
}

std::vector<FusedNodes> fuse_normalizations(const std::vector<GraphNode>& nodes,
                                            const Readers& readers, Device device,
                                            std::vector<bool>& taken) {
  std::vector<FusedNodes> all;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const GraphNode& node = nodes[i];
    if (taken[i] || node.type != "BatchNormalization" || node.inputs.size() != 5) continue;
    const ValueFacts &input = node.inputs[0].facts, &scale = node.inputs[1].facts;
    if (input.dtype != f32 || input.ndim < 2 || scale.shape.size() != 1) continue;
    ChannelAffine affine(scale.shape[0]);
    if (!affine.add(node, node.inputs[0].name)) continue;
    FusedNodes fused{{i}, {&node.inputs[0]}, nullptr};
    take_affine(nodes, readers, taken, fused, affine);
    const Limits limits = take_limits(nodes, readers, taken, fused);
    std::string name = name_of(node);
    fused.action = std::make_unique<ScaledChannels>(affine, limits, device, std::move(name));
    for (const std::size_t each : fused.nodes) taken[each] = true;
    all.push_back(std::move(fused));
  }
  return all;
}

void take_summand(const std::vector<GraphNode>& nodes, const Readers& readers,
                  const std::vector<bool>& taken, FusedNodes& fused) {
  const GraphNode& last = nodes[fused.nodes.back()];
  const auto next = readers.only(last.outputs[0].name);
  if (!next || taken[*next]) return;
  const GraphValue* const other = summand(nodes[*next], last);
  if (!other) return;
  fused.nodes.push_back(*next);
  fused.inputs.push_back(other);
}

Limits take_limits(const std::vector<GraphNode>& nodes, const Readers& readers,
                   const std::vector<bool>& taken, FusedNodes& fused) {
  const auto next = readers.only(nodes[fused.nodes.back()].outputs[0].name);
  if (!next || taken[*next]) return {};
  const std::optional<Limits> limits = limits_of(nodes[*next]);
  if (!limits) return {};
  fused.nodes.push_back(*next);
  return *limits;
}

}  // namespace bp::onnx
