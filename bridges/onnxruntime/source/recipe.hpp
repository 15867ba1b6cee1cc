// How operators of ONNX are served: by a row, or by a recipe of several. Both have a schema in the words of our rows, whose first
// arguments are the operator's inputs by their places, and whose keyword-only ones are its attributes by their names. Recipes see
// values of Backplane alone, and know nothing of ONNX Runtime.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "recipe_arguments.hpp"

namespace bp::onnx {

// What is known of an input or a result before anything runs.
struct ValueFacts {
  bool exists = false;  // optional ones may not be there
  bool is_constant = false;
  std::optional<Dtype> dtype;       // none: strings, sequences, and numbers that Backplane lacks
  std::int64_t ndim = -1;           // -1: not known
  std::vector<std::int64_t> shape;  // -1: not known
};
// What a recipe makes of inputs that are constant, once for all runs of its node. Threads: any.
class Kept {
 public:
  template <class Make> const std::vector<Tensor>& get(const Make& make) {
    std::call_once(once_, [&] { tensors_ = make(); });
    return tensors_;
  }

 private:
  std::once_flag once_;
  std::vector<Tensor> tensors_;
};
struct NodeFacts {
  std::int64_t version = 0;  // of the operator: the opset that it has been the same since
  Device device;
  std::vector<ValueFacts> inputs, results;
  std::shared_ptr<Kept> kept = std::make_shared<Kept>();  // of this node, shared by copies
};

// A number or list among the inputs is a tensor in ONNX, whose values have been fetched.
class Arguments : public bridge::Arguments {
 public:
  Arguments(const bp_value* values, const NodeFacts& node)
      : bridge::Arguments(values), node_(&node) {}

  const NodeFacts& node() const { return *node_; }

 private:
  const NodeFacts* node_;
};

struct Entry {
  const char* onnx;  // the operator
  int since, until;  // by its own version
  const char* row;   // serves it, or null
  const char* schema;
  // Makes the results of the node, which may have fewer than the schema; of recipes.
  void (*run)(const Arguments& arguments, std::vector<Tensor>& results) = nullptr;
  // Before anything runs, when tensors are not there yet; null: all calls.
  bool (*accepts)(const Arguments& arguments) = nullptr;
  DtypeSet dtypes = dtypes::all;  // of the first input
};

// Those of the table's column `onnx`, and of recipes/*.yaml, of which generated/ is made.
std::vector<Entry> all_entries();

}  // namespace bp::onnx
