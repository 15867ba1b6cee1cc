// Nodes of a graph that one call computes.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "step.hpp"

namespace bp::onnx {

struct FusedNodes {
  std::vector<std::size_t> nodes;  // in the graph's order; the last one's result is the action's
  std::vector<const GraphValue*> inputs;  // in the order that the action takes them
  std::unique_ptr<Action> action;
};

// Who reads what: only a value that one node reads, and that the graph does not give, need not be made.
class Readers {
 public:
  Readers(const std::vector<GraphNode>& nodes, const std::vector<GraphValue>& outputs) {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (const GraphValue& value : nodes[i].inputs)
        if (!value.name.empty()) readers_[value.name].push_back(i);
    for (const GraphValue& value : outputs) given_.insert(value.name);
  }

  // The only one, if that is so.
  std::optional<std::size_t> only(const std::string& value) const {
    const auto found = readers_.find(value);
    if (found == readers_.end() || found->second.size() != 1 || given_.contains(value))
      return std::nullopt;
    return found->second[0];
  }

 private:
  std::unordered_map<std::string, std::vector<std::size_t>> readers_;
  std::unordered_set<std::string> given_;
};

struct Limits {
  std::optional<double> min, max;
};
// Of a node that brings its first input into a range.
std::optional<Limits> limits_of(const GraphNode& node);

// A number that a constant of one element holds, in float32.
std::optional<double> number_of(const GraphValue& value);

bool is_of_onnx(const GraphNode& node);
bool is_addition(const GraphNode& node);  // of two
const Attribute* find_attribute(const GraphNode& node, std::string_view name);
// A number of the node, or what it is if the node does not say.
std::int64_t int_of(const GraphNode& node, std::string_view name, std::int64_t otherwise);
double real_of(const GraphNode& node, std::string_view name, double otherwise);

// A constant's own copy there.
Tensor copy_on(const Tensor& constant, Device device);

// `sums` and `other`, either of which may be broadcast, brought into a range.
Tensor finished(const Tensor& sums, const Tensor& other, const Limits& limits);

}  // namespace bp::onnx
