// How operators of ONNX are served: by a row, or by a recipe of several. Both have a schema in the words of our rows, whose first
// arguments are the operator's inputs by their places, and whose keyword-only ones are its attributes by their names. Recipes see
// values of Backplane alone, and know nothing of ONNX Runtime.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <backplane/core_ops/arguments.hpp>
#include <backplane/dispatcher/call.hpp>

namespace bp::onnx {

// What is known of an input or a result before anything runs.
struct ValueFacts {
  bool exists = false;  // optional ones may not be there
  bool is_constant = false;
  std::optional<Dtype> dtype;       // none: strings, sequences, and numbers that Backplane lacks
  std::int64_t ndim = -1;           // -1: not known
  std::vector<std::int64_t> shape;  // -1: not known
};
struct NodeFacts {
  std::int64_t version = 0;  // of the operator: the opset that it has been the same since
  Device device;
  std::vector<ValueFacts> inputs, results;
};

// The arguments of a call, in schema order. Tensors are borrowed from the caller. A number or list among the inputs is a tensor in
// ONNX, whose values have been fetched.
class Arguments {
 public:
  Arguments(const bp_value* values, const NodeFacts& node) : values_(values), node_(&node) {}

  const NodeFacts& node() const { return *node_; }
  // Undefined where there is none.
  Tensor tensor(int place) const {
    const bp_tensor* abi = is_none(place) ? nullptr : values_[place].u.tensor;
    return abi ? Tensor::share(TensorImpl::of(abi)) : Tensor();
  }
  std::vector<Tensor> tensors(int place) const {
    std::vector<Tensor> list;
    const auto* pointers = static_cast<const bp_tensor* const*>(values_[place].u.ptr);
    for (std::uint32_t i = 0; i < values_[place].aux; ++i)
      list.push_back(pointers[i] ? Tensor::share(TensorImpl::of(pointers[i])) : Tensor());
    return list;
  }
  Scalar scalar(int place) const { return Scalar::from_value(values_[place]); }
  std::optional<Scalar> optional_scalar(int place) const {
    return is_none(place) ? std::nullopt : std::optional(scalar(place));
  }
  std::int64_t integer(int place) const { return values_[place].u.i; }
  std::optional<std::int64_t> optional_integer(int place) const {
    return is_none(place) ? std::nullopt : std::optional(integer(place));
  }
  double real(int place) const { return scalar(place).to_double(); }
  std::optional<double> optional_real(int place) const {
    return is_none(place) ? std::nullopt : std::optional(real(place));
  }
  bool boolean(int place) const { return values_[place].u.i != 0; }
  std::string_view text(int place) const {
    if (is_none(place)) return {};
    return {static_cast<const char*>(values_[place].u.ptr), values_[place].aux};
  }
  // No elements where there is none, too.
  IntList list(int place) const {
    if (is_none(place)) return {};
    return {static_cast<const std::int64_t*>(values_[place].u.ptr), values_[place].aux};
  }
  std::optional<IntList> optional_list(int place) const {
    return is_none(place) ? std::nullopt : std::optional(list(place));
  }
  std::span<const double> reals(int place) const {
    if (is_none(place)) return {};
    return {static_cast<const double*>(values_[place].u.ptr), values_[place].aux};
  }
  bool is_none(int place) const { return values_[place].tag == BP_NONE; }
  std::optional<Dtype> dtype(int place) const {
    return is_none(place) ? std::nullopt : std::optional(static_cast<Dtype>(integer(place)));
  }

 private:
  const bp_value* values_;
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
