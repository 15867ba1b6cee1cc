// A graph that was taken whole: its nodes in order, prepared, and its constants on the device.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "step.hpp"

namespace bp::onnx {

class Program {
 public:
  // `inputs` and `outputs`: the names of what the fused node takes and gives, in its order. Throws where a node is not served.
  Program(const std::vector<GraphNode>& nodes, const std::vector<GraphValue>& inputs,
          const std::vector<GraphValue>& outputs, Device device);

  // Computes from and into ONNX Runtime's tensors, on a device with memory of its own in the order of ONNX Runtime's stream. Threads: any, several at once.
  void run(OrtKernelContext* context) const;

 private:
  struct Placed {
    std::unique_ptr<Action> action;
    std::vector<int> inputs, outputs;  // by value; -1: there is none
    std::vector<int> last_uses;        // values that nobody reads after it
  };

  int value_named(const std::string& name);
  void add_node(const GraphNode& node);
  void keep_constant(const GraphValue& value, int at);
  void find_last_uses();
  void read_inputs(OrtKernelContext* context, std::vector<Value>& values) const;
  void compute(OrtKernelContext* context) const;
  void write_outputs(OrtKernelContext* context, const std::vector<Value>& values) const;

  Device device_, host_;
  bool has_own_memory_;
  std::unordered_map<std::string, int> names_;
  std::vector<Value> constants_;  // by value
  std::vector<Placed> steps_;
  std::vector<int> inputs_, outputs_;
};

}  // namespace bp::onnx
