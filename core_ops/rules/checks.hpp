// Checks that several rules share; every error names the operator, both values and the way out.
#pragma once

#include <backplane/tensor/check.hpp>

#include "arguments.hpp"

namespace bp::rules {

// A set in words: "any integer, float32, bool".
std::string to_string(DtypeSet set);

// Throws unless the operator computes in `dtype`.
void check_dtype(const Operator& op, Dtype dtype);

// Throws unless the index is int64 or int32.
void check_index_dtype(const Call& call, const TensorImpl& index);
// An index into nothing is out of range whatever it is: said here, since kernels get no empty input.
void check_something_to_index(const Call& call, IntList shape, std::int64_t dim,
                              std::int64_t num_indices);

// Makes the tensors of the promoted arguments come in `dtype`.
inline void compute_in(const Call& call, Inferred& out, Dtype dtype) {
  check_dtype(call.op, dtype);
  out.compute_dtype = dtype;
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    if (!(call.op.promoted >> i & 1u)) continue;
    const bp_value& value = call.args[i];
    if (value.tag == BP_TENSOR && value.u.tensor->dtype != index(dtype)) out.converts = true;
    if (value.tag != BP_TENSOR_LIST) continue;
    auto* elements = static_cast<const bp_tensor* const*>(value.u.ptr);
    for (std::uint32_t k = 0; k < value.aux; ++k)
      if (elements[k] && elements[k]->dtype != index(dtype)) out.converts = true;
  }
}

// The argument `dim`, wrapped and written back; 0 for a 0-dim tensor.
inline std::int64_t wrap_dim_arg(const Call& call, std::uint32_t place, std::int64_t rank) {
  const std::int64_t dim = wrap_dim(call.op.name(), int_arg(call, place), rank);
  call.args[place].u.i = dim;
  return dim;
}

}  // namespace bp::rules
