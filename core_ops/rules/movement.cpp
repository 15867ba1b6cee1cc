// Copies, casts and joins.
#include <vector>

#include <backplane/runtime/settings.hpp>
#include <backplane/tensor/promotion.hpp>

#include "checks.hpp"
#include "rules.hpp"

namespace bp::rules {
namespace {

struct Elements {
  const bp_tensor* const* data;
  std::uint32_t size;
  IntList shape(std::uint32_t i) const { return shape_of(*TensorImpl::of(data[i])); }
};

// PyTorch's legacy: a tensor of shape [0] goes with anything.
bool is_nothing(IntList shape) {
  return shape.size() == 1 && shape[0] == 0;
}

// Kernels get no tensors without elements. The list is the caller's, so a shorter one takes its
// place: on this thread, which runs one cat at a time between rule and kernel.
void leave_out_empty(const Call& call, const Elements& all, std::uint32_t num_empty) {
  static thread_local std::vector<const bp_tensor*> kept;
  kept.clear();
  for (std::uint32_t i = 0; i < all.size; ++i)
    if (all.data[i]->numel != 0) kept.push_back(all.data[i]);
  call.args[0].aux = all.size - num_empty;
  call.args[0].u.ptr = kept.data();
}

// The sizes of the result; those along `dim` are added up.
void join_shapes(const Call& call, const Elements& all, std::uint32_t first, std::int64_t dim,
                 Dims& result) {
  result = all.shape(first);
  for (std::uint32_t i = first + 1; i < all.size; ++i) {
    const IntList shape = all.shape(i);
    if (is_nothing(shape)) continue;
    BP_CHECK(shape.size() == result.size(),
             "cat: tensor {} has shape {} and tensor {} has shape {}; all need the same rank",
             first, bp::to_string(all.shape(first)), i, bp::to_string(shape));
    for (std::size_t d = 0; d < shape.size(); ++d)
      BP_CHECK(static_cast<std::int64_t>(d) == dim || shape[d] == result[d],
               "cat: tensor {} has shape {} and tensor {} has shape {}; all sizes but those of "
               "dimension {} must agree",
               first, bp::to_string(all.shape(first)), i, bp::to_string(shape), dim);
    result[dim] += shape[dim];
  }
  checked_numel(call.op.name(), result);
}

}  // namespace

void copy(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  out.compute_dtype = dtype_of(input);
  out.outputs[0] = {dtype_of(input), shape_of(input)};
}

void cast(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  out.compute_dtype = dtype_of(input);
  out.outputs[0] = {dtype_arg(call, 1), shape_of(input)};
}

void cat(const Call& call, Inferred& out) {
  const bp_value& list = call.args[0];
  const Elements all{static_cast<const bp_tensor* const*>(list.u.ptr), list.aux};
  BP_CHECK(all.size > 0, "cat: the list is empty; pass at least one tensor");
  ResultType type(default_dtype());
  std::uint32_t first = all.size;
  std::uint32_t num_empty = 0;
  for (std::uint32_t i = 0; i < all.size; ++i) {
    BP_CHECK(all.data[i]->dl.ndim > 0, "cat: tensor {} is 0-dim; reshape it to [1] first", i);
    // Even 0-dim tensors would count fully here: what is stored next to each other is equal.
    type.add(static_cast<Dtype>(all.data[i]->dtype), false);
    if (first == all.size && !is_nothing(all.shape(i))) first = i;
    num_empty += all.data[i]->numel == 0;
  }
  const Dtype dtype = type.result();
  compute_in(call, out, dtype);
  out.outputs[0].dtype = dtype;
  if (first == all.size) {  // nothing but [0]
    wrap_dim_arg(call, 1, 1);
    out.outputs[0].shape = {0};
    return;
  }
  const std::int64_t dim =
      wrap_dim_arg(call, 1, static_cast<std::int64_t>(all.shape(first).size()));
  join_shapes(call, all, first, dim, out.outputs[0].shape);
  if (num_empty > 0 && num_empty < all.size) leave_out_empty(call, all, num_empty);
}

}  // namespace bp::rules
