// Reductions and scans: which dimensions go, and in which dtype it is computed.
#include "reduction.hpp"

#include <limits>

#include "checks.hpp"
#include "rules.hpp"

namespace bp::rules {
namespace {

// sum(Tensor input, int[]? dim, bool keepdim, ...) and its like.
constexpr std::uint32_t dim_place = 1;
constexpr std::uint32_t keepdim_place = 2;
constexpr std::uint32_t dtype_place = 3;

// The dimensions to reduce as bits; none given, or an empty list, means all.
std::uint32_t reduced_dims(const Call& call, std::uint32_t place, std::int64_t rank) {
  const std::uint32_t all = (1u << rank) - 1;
  if (is_none(call, place)) return all;
  const IntList list = list_arg(call, place);
  std::uint32_t bits = 0;
  for (std::int64_t dim : list) {
    dim = wrap_dim(call.op.name(), dim, rank);
    BP_CHECK(!(bits >> dim & 1u), "{}: dimension {} is twice in {}; list each once", call.op.name(),
             dim, bp::to_string(list));
    bits |= 1u << dim;
  }
  return bits == 0 ? all : bits & all;
}

}  // namespace

bool reduce_shape(const Call& call, Inferred& out, ReductionPlaces places) {
  const IntList shape = shape_of(impl_arg(call, 0));
  const std::uint32_t bits =
      reduced_dims(call, places.dim, static_cast<std::int64_t>(shape.size()));
  const bool keepdim = bool_arg(call, places.keepdim);
  Dims& dims = out.lists[0];
  bool is_empty = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!(bits >> i & 1u)) {
      out.outputs[0].shape.push_back(shape[i]);
      continue;
    }
    dims.push_back(static_cast<std::int64_t>(i));
    is_empty |= shape[i] == 0;
    if (keepdim) out.outputs[0].shape.push_back(1);
  }
  bp_value& list = call.args[places.dim];
  list.tag = BP_INT_LIST;
  list.aux = static_cast<std::uint32_t>(dims.size());
  list.u.ptr = dims.data();
  return is_empty;
}

bool has_elements(IntList shape) {
  for (std::int64_t size : shape)
    if (size == 0) return false;
  return true;
}

Dtype dtype_or(const Call& call, std::uint32_t place, Dtype integers) {
  if (!is_none(call, place)) return dtype_arg(call, place);
  const Dtype own = dtype_of(impl_arg(call, 0));
  return is_integral(own) || own == boolean ? integers : own;
}

namespace {

void check_floating(const Call& call, Dtype dtype) {
  BP_CHECK(contains(call.op.dtypes, dtype),
           "{}: not defined for {}; pass dtype=, one of {}, or cast first", call.op.name(),
           name(dtype), to_string(call.op.dtypes));
}

}  // namespace

void sum(const Call& call, Inferred& out) {
  const Dtype dtype = dtype_or(call, dtype_place, i64);
  compute_in(call, out, dtype);
  out.outputs[0].dtype = dtype;
  out.fills = reduce_shape(call, out);
  out.fill_value = 0;
}

void mean(const Call& call, Inferred& out) {
  const Dtype own = dtype_of(impl_arg(call, 0));
  const Dtype dtype = dtype_or(call, dtype_place, own);
  check_floating(call, dtype);
  compute_in(call, out, dtype);
  out.outputs[0].dtype = dtype;
  out.fills = reduce_shape(call, out);
  out.fill_value = std::numeric_limits<double>::quiet_NaN();
}

void extremum(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  compute_in(call, out, dtype_of(input));
  out.outputs[0].dtype = dtype_of(input);
  const bool is_empty = reduce_shape(call, out);
  BP_CHECK(!is_empty || !has_elements(out.outputs[0].shape),
           "{}: no elements along dimensions {} of shape {}; the {} of nothing is not defined",
           call.op.name(), bp::to_string(out.lists[0]), bp::to_string(shape_of(input)),
           call.op.name());
}

void argmax(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  check_dtype(call.op, dtype_of(input));
  out.compute_dtype = dtype_of(input);
  out.outputs[0].dtype = i64;
  const IntList shape = shape_of(input);
  const bool keepdim = bool_arg(call, keepdim_place);
  Dims& result = out.outputs[0].shape;
  std::int64_t count = input.abi.numel;
  if (is_none(call, dim_place)) {
    if (keepdim) result = Dims(static_cast<std::uint32_t>(shape.size()), 1);
  } else {
    const auto rank = static_cast<std::int64_t>(shape.size());
    const std::int64_t dim = wrap_dim_arg(call, dim_place, rank);
    result = shape;
    if (rank == 0) {
      call.args[dim_place] = {};  // nothing to choose along: as if no dimension were given
    } else {
      count = shape[dim];
      if (keepdim)
        result[dim] = 1;
      else
        result.erase(dim);
    }
  }
  BP_CHECK(count > 0 || !has_elements(result),
           "{0}: no elements to choose from in shape {1}; the {0} of nothing is not defined",
           call.op.name(), bp::to_string(shape));
}

void softmax(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  const Dtype dtype = dtype_or(call, 2, dtype_of(input));
  check_floating(call, dtype);
  compute_in(call, out, dtype);
  wrap_dim_arg(call, 1, input.abi.dl.ndim);
  out.outputs[0] = {dtype, shape_of(input)};
}

void scan(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  const Dtype dtype = dtype_or(call, 2, i64);
  compute_in(call, out, dtype);
  wrap_dim_arg(call, 1, input.abi.dl.ndim);
  out.outputs[0] = {dtype, shape_of(input)};
}

}  // namespace bp::rules
