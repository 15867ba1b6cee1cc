#include "decompositions/filling.hpp"

#include <algorithm>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>

#include "decompositions/index.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

void check_is_mask(const char* op, const Tensor& mask) {
  BP_CHECK(mask.dtype() == boolean, "{}: the mask is {}; cast it to bool", op, name(mask.dtype()));
}

void check_slice_index(const char* op, const Tensor& index) {
  BP_CHECK(index.dtype() == i64 || index.dtype() == i32,
           "{}: the index is {}; cast it to int64 (or int32)", op, name(index.dtype()));
  BP_CHECK(index.ndim() <= 1, "{}: the index has shape {}; pass a vector", op,
           to_string(index.shape()));
}

void check_same_dtype(const char* op, const Tensor& input, const Tensor& source) {
  BP_CHECK(input.dtype() == source.dtype(), "{}: input is {} and source is {}; cast one of them",
           op, name(input.dtype()), name(source.dtype()));
}

Tensor number_like(const Tensor& input, const Scalar& value) {
  return full({}, value, input.dtype(), input.device());
}

// A 0-dim tensor as a vector of one element, for what works along a dimension.
Tensor with_dims(const Tensor& input) {
  return input.ndim() == 0 ? reshape(input, {1}) : input;
}

// The index of each slice for each of its elements.
Tensor index_of_elements(const char* op, const Tensor& input, std::int64_t dim, const Tensor& index,
                         const Tensor& source) {
  check_slice_index(op, index);
  check_same_dtype(op, input, source);
  Dims wanted(input.shape());
  wanted[dim] = index.numel();
  BP_CHECK(source.shape() == wanted,
           "{}: source has shape {}; {} indices along dimension {} of shape {} need {}", op,
           to_string(source.shape()), index.numel(), dim, to_string(input.shape()),
           to_string(wanted));
  return expand(along_dim(index, dim, input.ndim()), wanted);
}

}  // namespace

Tensor filled_where(const Tensor& input, const Tensor& mask, const Scalar& value) {
  check_is_mask("masked_fill", mask);
  return where(mask, number_like(input, value), input);
}

Tensor selected_where(const Tensor& input, const Tensor& mask) {
  check_is_mask("masked_select", mask);
  const Dims shape = broadcast_shapes("masked_select", input.shape(), mask.shape());
  const Dims some = shape.empty() ? Dims{1} : shape;
  return index(expand(input, some), {expand(mask, some)});
}

// The element of the source for each place is the count of places before it.
Tensor scattered_where(const Tensor& input, const Tensor& mask, const Tensor& source) {
  check_is_mask("masked_scatter", mask);
  check_same_dtype("masked_scatter", input, source);
  const Dims shape = broadcast_shapes("masked_scatter", input.shape(), mask.shape());
  const Tensor whole = expand(input, shape);
  if (whole.numel() == 0) return copy(whole);
  if (source.numel() == 0 && input.device() != meta_device && !item<bool>(any(mask)))
    return copy(whole);
  BP_CHECK(source.numel() > 0,
           "masked_scatter: the source has no elements; pass as many as the "
           "mask has places");
  const Tensor places = reshape(expand(mask, shape), {whole.numel()});
  const Tensor counts = cumsum(cast(places, i64), 0);
  const Tensor given =
      index_select(reshape(source, {source.numel()}), 0, where(places, sub(counts, 1), 0));
  return where(reshape(places, shape), reshape(given, shape), whole);
}

Tensor filled_diagonal(const Tensor& input, const Scalar& value, bool wrap) {
  const std::int64_t rank = input.ndim();
  BP_CHECK(rank >= 2, "fill_diagonal: the shape is {}; pass two dimensions or more",
           to_string(input.shape()));
  BP_CHECK(rank == 2 || std::all_of(input.shape().begin(), input.shape().end(),
                                    [&](std::int64_t size) { return size == input.size(0); }),
           "fill_diagonal: the shape is {}; more than two dimensions must all be of one size",
           to_string(input.shape()));
  const auto place = [&](std::int64_t dim) {
    return along_dim(arange(0, input.size(dim), 1, i64, input.device()), dim, rank);
  };
  Tensor row = place(0);
  if (wrap && rank == 2) row = remainder(row, input.size(1) + 1);
  Tensor are_equal = eq(row, place(1));
  for (std::int64_t dim = 2; dim < rank; ++dim)
    are_equal = logical_and(are_equal, eq(row, place(dim)));
  return where(are_equal, number_like(input, value), input);
}

Tensor filled_slices(const Tensor& input, std::int64_t dim, const Tensor& index,
                     const Scalar& value) {
  check_slice_index("index_fill", index);
  if (input.ndim() == 0) return reshape(filled_slices(with_dims(input), dim, index, value), {});
  const std::int64_t along = wrap_dim("index_fill", dim, input.ndim()), size = input.size(along);
  const Tensor given = reshape(cast(index, i64), {index.numel()});
  const Tensor place = where(lt(given, 0), add(given, size), given);
  const Tensor count = scatter_add(full({size}, 0, i64, input.device()), 0, place,
                                   full({index.numel()}, 1, i64, input.device()));
  return where(along_dim(gt(count, 0), along, input.ndim()), number_like(input, value), input);
}

Tensor added_slices(const Tensor& input, std::int64_t dim, const Tensor& index,
                    const Tensor& source, const Scalar& alpha) {
  if (input.ndim() == 0)
    return reshape(added_slices(with_dims(input), dim, index, with_dims(source), alpha), {});
  const std::int64_t along = wrap_dim("index_add", dim, input.ndim());
  const Tensor places = index_of_elements("index_add", input, along, index, source);
  const bool is_once =
      input.dtype() == boolean ? alpha.to_bool() : alpha.to_double() == 1 && !alpha.is_complex();
  return sum_at(input, along, places, is_once ? source : mul(source, alpha));
}

Tensor copied_slices(const Tensor& input, std::int64_t dim, const Tensor& index,
                     const Tensor& source) {
  if (input.ndim() == 0)
    return reshape(copied_slices(with_dims(input), dim, index, with_dims(source)), {});
  const std::int64_t along = wrap_dim("index_copy", dim, input.ndim());
  return scatter(input, along, index_of_elements("index_copy", input, along, index, source),
                 source);
}

Tensor put_by_places(const Tensor& input, const Tensor& index, const Tensor& source,
                     bool accumulate) {
  BP_CHECK(index.numel() == source.numel(), "put: {} indices and {} elements; pass one for each",
           index.numel(), source.numel());
  BP_CHECK(index.dtype() == i64 || index.dtype() == i32,
           "put: the index is {}; cast it to int64 (or int32)", name(index.dtype()));
  BP_CHECK(source.device() == input.device(),
           "put: 'input' is on {} and 'source' is on {}; move one with to()",
           device_name(input.device()), device_name(source.device()));
  const Tensor line = reshape(input, {input.numel()});
  return reshape(index_put(line, {reshape(index, {index.numel()})},
                           reshape(source, {source.numel()}), accumulate),
                 input.shape());
}

}  // namespace bp
