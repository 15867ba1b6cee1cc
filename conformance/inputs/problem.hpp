// A case's arguments, made from its name alone: the same on every machine.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include <backplane/dispatcher/operator.hpp>
#include <backplane/tensor/tensor.hpp>

#include "cases/case.hpp"

namespace bp::conform {

// A tensor as it shall lie on the device: the whole memory behind it, gaps included, and the view into that.
struct Laid {
  Dtype dtype = f32;
  std::vector<std::int64_t> shape, strides;  // strides in elements
  std::int64_t offset = 0;                   // of element 0, in elements
  std::vector<unsigned char> storage;        // all bytes, gaps filled with a pattern of the seed
  // Not 0: the memory has so many bytes, most of which nobody looks at; `storage` then has the elements alone,
  // row-major, each of which is written to its place (a tensor step with "sparse" and "pieces").
  std::uint64_t sparse_bytes = 0;
};

// Of one argument of the schema.
struct Argument {
  bp_value value{};  // of anything but tensors; lists and strings point into the Problem
  std::vector<int>
      tensors;  // positions in Problem::tensors: one for BP_TENSOR, several for BP_TENSOR_LIST
  std::vector<std::size_t> holes = {};  // of a list: which of its elements are none, rising
  bool is_tensor() const { return value.tag == BP_TENSOR; }
};

// Calls `f` with the position of each element of a list, -1 for a hole.
template <class F> void for_each_listed(const Argument& argument, F&& f) {
  auto hole = argument.holes.begin();
  std::size_t place = 0;
  const auto fill = [&] {
    for (; hole != argument.holes.end() && *hole == place; ++hole, ++place) f(-1);
  };
  for (const int tensor : argument.tensors) {
    fill();
    f(tensor);
    ++place;
  }
  fill();
}

struct Problem {
  Operator* op = nullptr;
  std::vector<Argument> arguments;  // in schema order; those left out at the end have defaults
  std::vector<Laid> tensors;
  // What the call gives, from the row's shape rule; empty for BP_OP_SHAPE_DATA and composite rows.
  std::vector<OutputSpec> outputs;
  std::deque<std::vector<std::int64_t>> lists;
  std::deque<std::string> strings;

  // The same call of other tensors. It points into the lists of this one, and knows no outputs.
  Problem with_tensors(std::vector<Laid> others) const;

  Problem() = default;
  Problem(Problem&&) = default;
  Problem& operator=(Problem&&) = default;
};

// Its numbers are compared with such as stand for something (a target of 1 or -1): a step away says something else.
bool names_something(const Problem& problem, std::size_t tensor);

// The call as an application makes it. Throws bad_argument for a case that makes no sense. Each `draw` has other values.
Problem make_problem(const Case& one, std::uint64_t draw = 0);

// The same call as a kernel gets it (docs/notes/kernel-contract.md): promoted, broadcast by strides of 0, dimensions
// wrapped, defaults filled in, outputs known. False if a kernel would not get it in one piece (a cast or a copy comes
// first, nothing to compute, composite).
bool canonical(const Problem& problem, Problem& out);

// The tensor's elements as a row-major tensor on the host's memory device `on`.
Tensor values_of(const Laid& laid, Device on);

}  // namespace bp::conform
