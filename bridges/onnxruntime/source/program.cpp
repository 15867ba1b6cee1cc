// Running graphs.
#include "program.hpp"

#include <algorithm>

#include <backplane/backplane.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/stream.hpp>

#include "affine.hpp"
#include "chains.hpp"
#include "convolutions.hpp"
#include "device_memory.hpp"
#include "products.hpp"

namespace bp::onnx {

Program::Program(const std::vector<GraphNode>& nodes, const std::vector<GraphValue>& inputs,
                 const std::vector<GraphValue>& outputs, Device device)
    : device_(device), host_(host_device()), has_own_memory_(has_own_memory(device)) {
  const Readers readers(nodes, outputs);
  std::vector<bool> taken(nodes.size(), false);
  std::vector<FusedNodes> fused = fuse_convolutions(nodes, readers, device, taken);
  const bool has_pictures = !fused.empty();
  for (FusedNodes& each : fuse_products(nodes, readers, device, taken))
    fused.push_back(std::move(each));
  for (FusedNodes& each : fuse_normalizations(nodes, readers, device, taken))
    fused.push_back(std::move(each));
  for (FusedNodes& each : join_pointwise(nodes, readers, has_pictures, taken))
    fused.push_back(std::move(each));
  std::vector<FusedNodes*> owners(nodes.size(), nullptr);
  for (FusedNodes& each : fused)
    for (const std::size_t node : each.nodes) owners[node] = &each;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!owners[i]) {
      add_node(nodes[i]);
    } else if (owners[i]->nodes.back() == i) {  // all that it reads is there by now
      Placed placed;
      for (const GraphValue* value : owners[i]->inputs) {
        placed.inputs.push_back(value_named(value->name));
        if (value->constant) keep_constant(*value, placed.inputs.back());
      }
      placed.outputs.push_back(value_named(nodes[i].outputs[0].name));
      placed.action = std::move(owners[i]->action);
      steps_.push_back(std::move(placed));
    }
  }
  for (const GraphValue& value : inputs) inputs_.push_back(value_named(value.name));
  for (const GraphValue& value : outputs) outputs_.push_back(value_named(value.name));
  find_last_uses();
  if (has_own_memory_) synchronize(device_);  // constants, which runs read on streams of their own
}

void Program::add_node(const GraphNode& node) {
  Placed placed;
  std::string why;
  placed.action = Step::make(node, device_, why);
  if (!placed.action)
    throw RuntimeFailure("backplane: " + node.type + " '" + node.name + "': " + why);
  for (const GraphValue& value : node.inputs) {
    placed.inputs.push_back(value.name.empty() ? -1 : value_named(value.name));
    if (value.constant) keep_constant(value, placed.inputs.back());
  }
  for (const GraphValue& value : node.outputs)
    placed.outputs.push_back(value.name.empty() ? -1 : value_named(value.name));
  steps_.push_back(std::move(placed));
}

// A copy, since ONNX Runtime's goes with the graph.
void Program::keep_constant(const GraphValue& value, int at) {
  Tensor& kept = constants_[static_cast<std::size_t>(at)].tensor;
  if (kept.defined()) return;
  const Tensor theirs = borrow(value.constant, host_);
  kept = device_ == host_ ? clone(theirs) : to(theirs, device_);
}

int Program::value_named(const std::string& name) {
  const auto [found, is_new] = names_.try_emplace(name, static_cast<int>(names_.size()));
  if (is_new) constants_.emplace_back();
  return found->second;
}

void Program::find_last_uses() {
  std::vector<bool> seen(names_.size(), false);
  for (const int output : outputs_) seen[static_cast<std::size_t>(output)] = true;
  for (std::size_t i = steps_.size(); i-- > 0;)
    for (const auto* list : {&steps_[i].outputs, &steps_[i].inputs})
      for (const int value : *list) {
        if (value < 0 || seen[static_cast<std::size_t>(value)]) continue;
        seen[static_cast<std::size_t>(value)] = true;
        steps_[i].last_uses.push_back(value);
      }
}

void Program::read_inputs(OrtKernelContext* context, std::vector<Value>& values) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const OrtValue* theirs = nullptr;
    check(ort::context_input(context, i, &theirs));
    if (!theirs) continue;  // an optional one
    Value& value = values[static_cast<std::size_t>(inputs_[i])];
    if (value.tensor.defined()) continue;  // a constant that came along
    value.tensor = has_own_memory_ ? borrow_on_device(theirs, device_) : borrow(theirs, device_);
  }
}

void Program::write_outputs(OrtKernelContext* context, const std::vector<Value>& values) const {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Tensor& result = values[static_cast<std::size_t>(outputs_[i])].tensor;
    const IntList shape = result.shape();
    OrtValue* theirs = nullptr;
    check(ort::context_output(context, i, shape.data(), shape.size(), &theirs));
    write_to_value(result, theirs);
  }
}

void Program::run(OrtKernelContext* context) const {
  if (!has_own_memory_) return compute(context);
  void* handle = nullptr;
  check(ort::context_stream(context, &handle));
  if (!handle) {
    compute(context);
    return Stream::current(device_).synchronize();
  }
  const StreamGuard guard(*static_cast<const Stream*>(handle));
  compute(context);
}

void Program::compute(OrtKernelContext* context) const {
  std::vector<Value> values = constants_;
  read_inputs(context, values);
  std::vector<Value*> inputs;
  std::vector<Value> results;
  for (const Placed& placed : steps_) {
    inputs.clear();
    for (const int at : placed.inputs)
      inputs.push_back(at < 0 ? nullptr : &values[static_cast<std::size_t>(at)]);
    results.assign(placed.outputs.size(), Value());
    try {
      placed.action->run(inputs, results);
    } catch (const Error& error) {
      throw RuntimeFailure("backplane: " + placed.action->name() + ": " + error.what());
    }
    for (std::size_t i = 0; i < results.size(); ++i)
      if (placed.outputs[i] >= 0)
        values[static_cast<std::size_t>(placed.outputs[i])] = std::move(results[i]);
    for (const int value : placed.last_uses) values[static_cast<std::size_t>(value)] = Value();
  }
  write_outputs(context, values);
}

}  // namespace bp::onnx
