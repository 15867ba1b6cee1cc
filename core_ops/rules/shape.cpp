// Paddings, turned dimensions and triangles: what they make of a shape.
#include <backplane/tensor/number_range.hpp>

#include "checks.hpp"
#include "rules.hpp"

namespace bp::rules {

void constant_pad_nd(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  const IntList shape = shape_of(input), pad = list_arg(call, 1);
  check_dtype(call.op, dtype_of(input));
  BP_CHECK(pad.size() % 2 == 0 && pad.size() <= 2 * shape.size(),
           "{}: {} numbers for rank {}; pass two for each padded dimension", call.op.name(),
           pad.size(), shape.size());
  check_holds(call.op.name(), "'value'", dtype_of(input), scalar_arg(call, 2));
  out.compute_dtype = dtype_of(input);
  out.outputs[0] = {dtype_of(input), shape};
  bool is_all_new = input.abi.numel == 0;
  for (std::size_t i = 0; i < pad.size() / 2; ++i) {
    const std::size_t dim = shape.size() - 1 - i;
    const std::int64_t before = pad[2 * i], behind = pad[2 * i + 1];
    std::int64_t size = 0;
    const bool overflows = __builtin_add_overflow(before, behind, &size) ||
                           __builtin_add_overflow(size, shape[dim], &size);
    BP_CHECK(!overflows,
             "{}: {} and {} beside the {} elements at dimension {} are too many; add fewer",
             call.op.name(), before, behind, shape[dim], dim);
    BP_CHECK(size >= 0, "{}: {} and {} at dimension {} leave {} of {} elements; cut away fewer",
             call.op.name(), before, behind, dim, size, shape[dim]);
    out.outputs[0].shape[dim] = size;
    is_all_new |= before <= -shape[dim] || behind <= -shape[dim];
  }
  // Kernels get a tensor of which something stays.
  out.fills = is_all_new;
  out.fill_value = scalar_arg(call, 2);
}

void flip(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  const IntList list = list_arg(call, 1);
  std::uint32_t bits = 0;
  for (std::int64_t dim : list) {
    dim = wrap_dim(call.op.name(), dim, input.abi.dl.ndim);
    BP_CHECK(!(bits >> dim & 1u), "{}: dimension {} is twice in {}; list each once", call.op.name(),
             dim, bp::to_string(list));
    bits |= 1u << dim;
  }
  Dims& dims = out.lists[0];
  for (std::int32_t dim = 0; dim < input.abi.dl.ndim; ++dim)
    if (bits >> dim & 1u) dims.push_back(dim);
  call.args[1].aux = static_cast<std::uint32_t>(dims.size());
  call.args[1].u.ptr = dims.data();
  out.compute_dtype = dtype_of(input);
  out.outputs[0] = {dtype_of(input), shape_of(input)};
}

void triangle(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  check_dtype(call.op, dtype_of(input));
  BP_CHECK(input.abi.dl.ndim >= 2, "{}: the shape is {}; pass a matrix or a batch of them",
           call.op.name(), bp::to_string(shape_of(input)));
  out.compute_dtype = dtype_of(input);
  out.outputs[0] = {dtype_of(input), shape_of(input)};
}

}  // namespace bp::rules
