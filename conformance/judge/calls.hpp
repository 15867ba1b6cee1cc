// A problem's call: what the row's shape rule says of it, found from metadata alone, and made on the oracle, with its tensors
// as they are, widened, or changed.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include <backplane/dispatcher/operator.hpp>
#include <backplane/tensor/tensor.hpp>

#include "inputs/problem.hpp"

namespace bp::conform {

// What values of lists of tensors point to.
using TensorLists = std::deque<std::vector<const bp_tensor*>>;
// The value of an argument that is a tensor or a list of them.
bp_value tensor_value(const Argument& argument, const std::vector<Tensor>& tensors,
                      TensorLists& lists);

struct InferredCall {
  std::vector<Tensor>
      tensors;  // one for each of the problem's, without memory unless the rule reads values
  std::vector<bp_value> args;  // in schema order, defaults filled in, rewritten by the rule
  TensorLists lists;
  Inferred inferred;
  // The position in Problem::tensors.
  int position_of(const bp_tensor* tensor) const;
};

// Does the row have a rule (composite rows and views have none)?
bool has_rule(const Operator& op);
// How many results the call has; of one that must be refused, as many as the schema names.
std::size_t count_results(const Problem& problem);
// Throws what the rule throws.
void infer_call(const Problem& problem, InferredCall& out);

// What is done to a floating element (to each part of a complex one) of tensor `t`; `i` is its place in the storage.
using Change = std::function<double(double value, std::size_t t, std::size_t i)>;

// A tensor that lies on the oracle as `laid` says, storage and all.
Tensor laid_out(const Laid& laid);
// The same in the wide dtype. Elements are first rounded to `through`, if given.
Tensor laid_out_wide(const Laid& laid, std::optional<Dtype> through);
// Changes all elements of the storage, in place. Nothing happens to integers and bools.
void change_elements(const Tensor& tensor, std::size_t t, const Change& change);

struct CallOptions {
  std::optional<Dtype>
      dtype;  // replaces arguments that are a floating dtype, and missing ones of factories
  bool absolute_numbers = false;  // numbers by their absolute value
  double step = 0;                // not 0: replaces an absent `eps`, which depends on the dtype
  std::uint64_t seed = 1;         // of the oracle's generator
};
// Threads: any.
std::vector<Tensor> call_row(const Problem& problem, const std::vector<Tensor>& tensors,
                             const CallOptions& options);

// The value that an argument of this name has in the call, with its default; BP_NONE if there is no such argument.
bp_value argument_value(const Problem& problem, const char* name);

// Is a number given, or left at its default, that this dtype cannot hold?
bool has_number_beyond(const Problem& problem, Dtype dtype);

// All elements, row-major, as doubles.
std::vector<double> doubles_of(const Tensor& tensor);

}  // namespace bp::conform
