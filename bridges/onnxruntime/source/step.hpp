// One node of a graph, prepared: its attributes are values of a call, and what is left are the tensors.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <backplane/dispatcher/operator.hpp>

#include "graph.hpp"
#include "recipe.hpp"

namespace bp::onnx {

// What a value of the graph is while it runs. The numbers of small tensors are fetched at most once.
struct Value {
  Tensor tensor;
  std::shared_ptr<const std::vector<std::int64_t>> whole;  // null: not fetched
};

// What a program does at one place, for one node or several.
class Action {
 public:
  virtual ~Action() = default;
  // Values by its inputs, null where there is none; fills its results, in the dtypes that the graph says. Throws bp::Error.
  virtual void run(std::span<Value* const> inputs, std::span<Value> results) const = 0;

  const std::string& name() const { return name_; }

 protected:
  std::string name_;  // "Add 'node_7'", for messages
};

class Step : public Action {
 public:
  // Nothing, and `why` says what is missing, where no entry takes the node.
  static std::unique_ptr<Step> make(const GraphNode& node, Device device, std::string& why);

  void run(std::span<Value* const> inputs, std::span<Value> results) const override;

 private:
  // Where an argument comes from: an input, or `prepared_`.
  struct Source {
    enum Kind : std::uint8_t {
      prepared,
      tensor,
      tensors,
      whole,
      wholes,
      number,
      numbers
    } kind = prepared;
    int input = 0;
  };
  struct Stored {
    std::vector<std::int64_t> ints;
    std::vector<double> reals;
    std::string text;
    Scalar number = 0;
    Tensor tensor;
  };
  struct Frame;

  bool bind(const GraphNode& node, std::string& why);
  void bind_constant(const Tensor& constant, std::size_t place);
  bool bind_attribute(const SchemaArgument& argument, const Attribute& attribute, std::size_t place,
                      std::string& why);
  void fill(Frame& frame, std::span<Value* const> inputs) const;

  const Entry* entry_ = nullptr;
  std::shared_ptr<const Schema> schema_;
  Operator* row_ = nullptr;
  NodeFacts facts_;
  std::vector<bp_value> prepared_;  // point into stored_
  std::vector<Source> sources_;
  std::vector<std::unique_ptr<Stored>> stored_;
};

// Operators that are claimed at all, with the range of their versions: for the page of coverage.
std::vector<const Entry*> known_entries();

}  // namespace bp::onnx
