// Rows that are looked up, and the largest elements: their shapes.
#include "checks.hpp"
#include "rules.hpp"

namespace bp::rules {

void embedding(const Call& call, Inferred& out) {
  const TensorImpl& weight = impl_arg(call, 0);
  const TensorImpl& indices = impl_arg(call, 1);
  check_index_dtype(call, indices);
  BP_CHECK(weight.abi.dl.ndim == 2, "embedding: the weight has shape {}; pass a matrix",
           bp::to_string(shape_of(weight)));
  const std::int64_t padding = int_arg(call, 2), num_rows = weight.shape[0];
  BP_CHECK(padding == -1 || (padding >= 0 && padding < num_rows),
           "embedding: padding_idx is {} and the weight has {} rows; pass one of them, or -1",
           padding, num_rows);
  check_something_to_index(call, shape_of(weight), 0, indices.abi.numel);
  out.compute_dtype = dtype_of(weight);
  out.outputs[0] = {dtype_of(weight), shape_of(indices)};
  check_rank("embedding", shape_of(indices).size() + 1);
  out.outputs[0].shape.push_back(weight.shape[1]);
}

void topk(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  check_dtype(call.op, dtype_of(input));
  const std::int64_t k = int_arg(call, 1), dim = wrap_dim_arg(call, 2, input.abi.dl.ndim);
  const IntList shape = shape_of(input);
  const std::int64_t size = shape.empty() ? 1 : shape[dim], least = shape.empty() ? 1 : 0;
  BP_CHECK(k >= least && k <= size, "topk: k is {} and dimension {} has {} elements; pass {} to {}",
           k, dim, size, least, size);
  out.compute_dtype = dtype_of(input);
  out.outputs[0] = {dtype_of(input), shape};
  out.outputs[1] = {i64, shape};
  if (shape.empty()) return;
  out.outputs[0].shape[dim] = out.outputs[1].shape[dim] = k;
}

}  // namespace bp::rules
