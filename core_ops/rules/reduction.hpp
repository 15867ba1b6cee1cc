// What the rules of all reductions are made of.
#pragma once

#include "arguments.hpp"

namespace bp::rules {

// Where a schema has its dimensions: sum(Tensor input, int[]? dim, bool keepdim, ...).
struct ReductionPlaces {
  std::uint32_t dim = 1;
  std::uint32_t keepdim = 2;
};

// Rewrites the list of dimensions as kernels expect it, sorted, and gives the output its shape. Returns
// whether nothing is left to reduce, though there are outputs.
bool reduce_shape(const Call& call, Inferred& out, ReductionPlaces places = {});
bool has_elements(IntList shape);

// The dtype asked for, else that of the argument, else `integers` for integers and bools.
Dtype dtype_or(const Call& call, std::uint32_t place, Dtype integers);

}  // namespace bp::rules
