// What is known of nodes before they become one call.
#include "fused.hpp"

#include <algorithm>

#include <backplane/backplane.hpp>

namespace bp::onnx {

bool is_of_onnx(const GraphNode& node) {
  return node.domain.empty() || node.domain == "ai.onnx";
}

bool is_addition(const GraphNode& node) {
  if (!is_of_onnx(node) || node.inputs.size() != 2) return false;
  return (node.type == "Add" && node.version >= 7) || (node.type == "Sum" && node.version >= 6);
}

const Attribute* find_attribute(const GraphNode& node, std::string_view name) {
  for (const Attribute& each : node.attributes)
    if (each.name == name) return &each;
  return nullptr;
}

std::int64_t int_of(const GraphNode& node, std::string_view name, std::int64_t otherwise) {
  const Attribute* const found = find_attribute(node, name);
  return found && !found->ints.empty() ? found->ints[0] : otherwise;
}

double real_of(const GraphNode& node, std::string_view name, double otherwise) {
  const Attribute* const found = find_attribute(node, name);
  return found && !found->reals.empty() ? found->reals[0] : otherwise;
}

Tensor copy_on(const Tensor& constant, Device device) {
  return device == host_device() ? clone(constant) : to(constant, device);
}

Tensor finished(const Tensor& sums, const Tensor& other, const Limits& limits) {
  Tensor result = add(sums, other);
  if (limits.min) result = clamp_min(result, *limits.min);
  if (limits.max) result = clamp_max(result, *limits.max);
  return result;
}

std::optional<double> number_of(const GraphValue& value) {
  if (!value.constant || value.facts.dtype != f32) return std::nullopt;
  const Tensor constant = borrow(value.constant, host_device());
  return constant.numel() == 1 ? std::optional<double>(item<float>(constant)) : std::nullopt;
}

std::optional<Limits> limits_of(const GraphNode& node) {
  if (!is_of_onnx(node) || node.inputs.empty() || node.inputs[0].facts.dtype != f32)
    return std::nullopt;
  if (node.type == "Relu") return Limits{0.0, std::nullopt};
  if (node.type != "Clip" || node.version < 6) return std::nullopt;
  Limits limits;
  if (node.version < 11) {
    const Attribute *min = find_attribute(node, "min"), *max = find_attribute(node, "max");
    if (min && min->reals.size() == 1) limits.min = min->reals[0];
    if (max && max->reals.size() == 1) limits.max = max->reals[0];
    return limits;
  }
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].facts.exists) continue;
    const std::optional<double> number = number_of(node.inputs[i]);
    if (!number) return std::nullopt;
    (i == 1 ? limits.min : limits.max) = number;
  }
  return limits;
}

}  // namespace bp::onnx
