// Pools: how many windows lie over each dimension.
#include "per_dim.hpp"
#include "rules.hpp"

namespace bp::rules {
namespace {

struct PoolArguments {
  IntList kernel, stride, padding, dilation;
  bool ceil_mode;

  std::int64_t stride_of(std::size_t dim) const {
    return of_dim(stride.empty() ? kernel : stride, dim);
  }
};

std::size_t pooled_rank(const Call& call, IntList input) {
  BP_CHECK(input.size() >= 3 && input.size() <= 5,
           "{}: the input has shape {}; it needs a batch, channels and one to three dimensions",
           call.op.name(), bp::to_string(input));
  return input.size() - 2;
}

void check_pool(const Call& call, const PoolArguments& pool, std::size_t rank) {
  check_per_dim(call, "kernel_size", pool.kernel, rank, 1);
  if (!pool.stride.empty()) check_per_dim(call, "stride", pool.stride, rank, 1);
  check_per_dim(call, "padding", pool.padding, rank, 0);
  check_per_dim(call, "dilation", pool.dilation, rank, 1);
  for (std::size_t dim = 0; dim < rank; ++dim) {
    const std::int64_t reach = of_dim(pool.dilation, dim) * (of_dim(pool.kernel, dim) - 1) + 1;
    BP_CHECK(of_dim(pool.padding, dim) <= reach / 2,
             "{}: padding is {} in dimension {}, where the kernel reaches over {}; it must be at "
             "most half of that",
             call.op.name(), of_dim(pool.padding, dim), dim, reach);
  }
}

std::int64_t num_pooled(const Call& call, const PoolArguments& pool, std::size_t dim,
                        std::int64_t size) {
  const std::int64_t stride = pool.stride_of(dim), padding = of_dim(pool.padding, dim);
  const std::int64_t reach = of_dim(pool.dilation, dim) * (of_dim(pool.kernel, dim) - 1) + 1;
  const std::int64_t count = num_pool_windows(size, of_dim(pool.kernel, dim), stride, padding,
                                              of_dim(pool.dilation, dim), pool.ceil_mode);
  BP_CHECK(size > 0 && count > 0,
           "{}: the kernel reaches over {} elements and the padded input has {} in dimension {}; "
           "pad more, or take a smaller kernel",
           call.op.name(), reach, size + 2 * padding, dim);
  return count;
}

Dims pooled_shape(const Call& call, const PoolArguments& pool, IntList input) {
  const std::size_t rank = pooled_rank(call, input);
  check_pool(call, pool, rank);
  Dims shape{input[0], input[1]};
  for (std::size_t dim = 0; dim < rank; ++dim)
    shape.push_back(num_pooled(call, pool, dim, input[dim + 2]));
  return shape;
}

constexpr std::int64_t undilated[1] = {1};

// kernel_size, stride, padding, ceil_mode of an average, from place `first` on.
PoolArguments average_arguments(const Call& call, std::uint32_t first) {
  return {list_arg(call, first), list_arg(call, first + 1), list_arg(call, first + 2),
          IntList(undilated, 1), bool_arg(call, first + 3)};
}

void check_divisor(const Call& call, std::uint32_t place) {
  BP_CHECK(is_none(call, place) || int_arg(call, place) != 0,
           "{}: divisor_override is 0; leave it out, or give another number", call.op.name());
}

void set_values_and_indices(Inferred& out, Dtype dtype, const Dims& shape) {
  out.compute_dtype = dtype;
  out.outputs[0] = {dtype, shape};
  out.outputs[1] = {i64, shape};
}

}  // namespace

void max_pool(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  check_dtype(call.op, dtype_of(input));
  const PoolArguments pool{list_arg(call, 1), list_arg(call, 2), list_arg(call, 3),
                           list_arg(call, 4), bool_arg(call, 5)};
  set_values_and_indices(out, dtype_of(input), pooled_shape(call, pool, shape_of(input)));
}

void avg_pool(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  check_dtype(call.op, dtype_of(input));
  check_divisor(call, 6);
  out.compute_dtype = dtype_of(input);
  out.outputs[0] = {dtype_of(input),
                    pooled_shape(call, average_arguments(call, 1), shape_of(input))};
}

void avg_pool_backward(const Call& call, Inferred& out) {
  const TensorImpl& grad = impl_arg(call, 0);
  const IntList size = list_arg(call, 1);
  check_dtype(call.op, dtype_of(grad));
  check_divisor(call, 7);
  const Dims expected = pooled_shape(call, average_arguments(call, 2), size);
  BP_CHECK(shape_of(grad) == expected,
           "{}: the gradient has shape {} and the pool's result {}; they must be equal",
           call.op.name(), bp::to_string(shape_of(grad)), bp::to_string(expected));
  out.compute_dtype = dtype_of(grad);
  out.outputs[0] = {dtype_of(grad), size};
}

void max_pool_backward(const Call& call, Inferred& out) {
  const TensorImpl &grad = impl_arg(call, 0), &indices = impl_arg(call, 1);
  const IntList size = list_arg(call, 2), shape = shape_of(grad);
  check_dtype(call.op, dtype_of(grad));
  BP_CHECK(dtype_of(indices) == i64 && shape_of(indices) == shape,
           "{}: indices is {} of shape {} for a gradient of shape {}; pass int64 of the same shape",
           call.op.name(), name(dtype_of(indices)), bp::to_string(shape_of(indices)),
           bp::to_string(shape));
  pooled_rank(call, size);
  BP_CHECK(size.size() == shape.size() && size[0] == shape[0] && size[1] == shape[1],
           "{}: the gradient has shape {} and size is {}; rank, batch and channels must be equal",
           call.op.name(), bp::to_string(shape), bp::to_string(size));
  const std::int64_t elements = checked_numel(call.op.name(), size);
  BP_CHECK(elements > 0 || grad.abi.numel == 0,
           "{}: the gradient has shape {} and size is {}; there is nothing to index",
           call.op.name(), bp::to_string(shape), bp::to_string(size));
  out.compute_dtype = dtype_of(grad);
  out.outputs[0] = {dtype_of(grad), size};
}

void adaptive_pool(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  const IntList output_size = list_arg(call, 1), size = shape_of(input);
  check_dtype(call.op, dtype_of(input));
  const std::size_t rank = pooled_rank(call, size);
  check_per_dim(call, "output_size", output_size, rank, 0);
  Dims shape{size[0], size[1]};
  for (std::size_t dim = 0; dim < rank; ++dim) {
    BP_CHECK(size[dim + 2] > 0,
             "{}: the input has shape {}; there is nothing to choose from in dimension {}",
             call.op.name(), bp::to_string(size), dim);
    shape.push_back(of_dim(output_size, dim));
  }
  set_values_and_indices(out, dtype_of(input), shape);
}

}  // namespace bp::rules
