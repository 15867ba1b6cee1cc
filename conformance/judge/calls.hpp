// A problem's call made on the oracle, with its tensors as they are, widened, or changed.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <backplane/tensor/tensor.hpp>

#include "inputs/problem.hpp"

namespace bp::conform {

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
