// Reading graphs of ONNX Runtime.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "interface.hpp"
#include "recipe.hpp"

namespace bp::onnx {

// What ONNX Runtime answered when we asked it for something.
struct RuntimeFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Throws RuntimeFailure.
void check(OrtStatus* status);

// A function of the C interface must not throw: errors become a status.
OrtStatus* status_of_current_exception() noexcept;
template <class Body> OrtStatus* guarded(const Body& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (...) {
    return status_of_current_exception();
  }
}

struct Attribute {
  std::string name;
  int type = 0;
  std::vector<std::int64_t> ints;
  std::vector<double> reals;
  std::string text;  // of several: joined by commas
  Tensor tensor;     // on the host
};

struct GraphValue {
  std::string name;  // empty: there is none
  ValueFacts facts;
  const OrtValue* constant = nullptr;  // null: known only when it runs
};

struct GraphNode {
  const OrtNode* handle = nullptr;
  std::string name, type, domain;
  int version = 0;
  bool has_subgraphs = false;
  bool is_taken = false;  // by another provider
  std::vector<Attribute> attributes;
  std::vector<GraphValue> inputs, outputs;
};

// For messages: "Add 'node_7'".
std::string name_of(const GraphNode& node);

GraphNode read_node(const OrtNode* node);
std::vector<GraphNode> read_nodes(const OrtGraph* graph);

// None: Backplane has no such numbers.
std::optional<Dtype> dtype_of(int element_type);

// What a value says of its tensor; row-major. Throws RuntimeFailure for a dtype that Backplane lacks.
struct TensorFacts {
  Dtype dtype = f32;
  Dims shape, strides;
  void* data = nullptr;
  bool is_empty = false;
};
TensorFacts tensor_facts(const OrtValue* value);

// A tensor over the value's memory, which is the host's.
Tensor borrow(const OrtValue* value, Device host);

}  // namespace bp::onnx
