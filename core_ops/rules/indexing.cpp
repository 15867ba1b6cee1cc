// What reads or writes by index, and what orders: the shapes that indices may have.
#include <algorithm>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/reduction.hpp>

#include "checks.hpp"
#include "rules.hpp"

namespace bp::rules {
namespace {

// `index` has at most the sizes of `other` (in every dimension but `free_dim`).
void check_within(const Call& call, IntList index, const char* what, IntList other,
                  std::int64_t free_dim) {
  const std::size_t rank = std::max<std::size_t>(other.size(), 1);
  const std::size_t index_rank = std::max<std::size_t>(index.size(), 1);
  BP_CHECK(rank == index_rank, "{}: the index has shape {} and {} has shape {}; give both one rank",
           call.op.name(), bp::to_string(index), what, bp::to_string(other));
  const auto size_of = [](IntList shape, std::size_t d) { return shape.empty() ? 1 : shape[d]; };
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t size = size_of(index, d), most = size_of(other, d);
    BP_CHECK(static_cast<std::int64_t>(d) == free_dim || size <= most,
             "{}: the index has shape {} and {} has shape {} (dimension {}: {} above {}); make the "
             "index smaller",
             call.op.name(), bp::to_string(index), what, bp::to_string(other), d, size, most);
  }
}

std::int64_t num_elements(IntList shape) {
  std::int64_t numel = 1;
  for (std::int64_t size : shape) numel *= size;
  return numel;
}

}  // namespace

void gather(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  const TensorImpl& index = impl_arg(call, 2);
  const std::int64_t dim = wrap_dim_arg(call, 1, input.abi.dl.ndim);
  if (index.abi.numel > 0) {  // of an index without elements PyTorch asks nothing
    check_index_dtype(call, index);
    check_within(call, shape_of(index), "input", shape_of(input), dim);
  }
  check_something_to_index(call, shape_of(input), dim, index.abi.numel);
  out.compute_dtype = dtype_of(input);
  out.outputs[0] = {dtype_of(input), shape_of(index)};
}

void index_select(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  const TensorImpl& index = impl_arg(call, 2);
  check_index_dtype(call, index);
  const std::int64_t dim = wrap_dim_arg(call, 1, input.abi.dl.ndim);
  BP_CHECK(index.abi.dl.ndim <= 1, "index_select: the index has shape {}; pass a vector",
           bp::to_string(shape_of(index)));
  check_something_to_index(call, shape_of(input), dim, index.abi.numel);
  out.compute_dtype = dtype_of(input);
  out.outputs[0] = {dtype_of(input), shape_of(input)};
  if (input.abi.dl.ndim > 0) {
    out.outputs[0].shape[dim] = index.abi.numel;
  } else {
    BP_CHECK(index.abi.numel == 1, "index_select: {} indices into a 0-dim tensor; pass one",
             index.abi.numel);
  }
}

void scatter_add(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  const TensorImpl& index = impl_arg(call, 2);
  const TensorImpl& src = impl_arg(call, 3);
  check_index_dtype(call, index);
  BP_CHECK(dtype_of(input) == dtype_of(src), "{}: input is {} and src is {}; cast one of them",
           call.op.name(), name(dtype_of(input)), name(dtype_of(src)));
  check_dtype(call.op, dtype_of(input));
  const std::int64_t dim = wrap_dim_arg(call, 1, input.abi.dl.ndim);
  if (index.abi.numel > 0) {
    check_within(call, shape_of(index), "src", shape_of(src), -1);
    check_within(call, shape_of(index), "input", shape_of(input), dim);
    check_something_to_index(call, shape_of(input), dim, index.abi.numel);
  }
  out.compute_dtype = dtype_of(input);
  out.outputs[0] = {dtype_of(input), shape_of(input)};
}

void one_hot(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  check_dtype(call.op, dtype_of(input));
  std::int64_t num_classes = int_arg(call, 1);
  if (num_classes == -1) {
    BP_CHECK(input.abi.numel > 0 && input.abi.device != meta_device.number,
             "one_hot: the number of classes cannot be read from {}; pass num_classes",
             input.abi.numel == 0 ? "a tensor without elements" : "a meta tensor");
    num_classes = item<std::int64_t>(bp::max(tensor_arg(call, 0))) + 1;
  }
  BP_CHECK(num_classes >= 1 || (num_classes == 0 && input.abi.numel == 0),
           "one_hot: {} classes; pass a positive number, or -1 for as many as there are",
           num_classes);
  call.args[1].u.i = num_classes;
  out.compute_dtype = dtype_of(input);
  out.outputs[0] = {i64, shape_of(input)};
  check_rank("one_hot", shape_of(input).size() + 1);
  out.outputs[0].shape.push_back(num_classes);
}

void nonzero(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  check_dtype(call.op, dtype_of(input));
  BP_CHECK(input.abi.device != meta_device.number,
           "nonzero: the shape depends on values, and a meta tensor has none; use another device");
  out.compute_dtype = dtype_of(input);
  out.outputs[0] = {i64, {0, input.abi.dl.ndim}};
  out.fills = num_elements(shape_of(input)) == 0;
}

void sort(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  check_dtype(call.op, dtype_of(input));
  wrap_dim_arg(call, 1, input.abi.dl.ndim);
  out.compute_dtype = dtype_of(input);
  out.outputs[0] = {dtype_of(input), shape_of(input)};
  out.outputs[1] = {i64, shape_of(input)};
}

}  // namespace bp::rules
