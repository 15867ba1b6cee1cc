#include "decompositions/selection.hpp"

#include <algorithm>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>

namespace bp {
namespace {

// The part of `input` that an index of this shape can reach: its front, but all of `dim`.
Tensor reached(const Tensor& input, IntList shape, std::int64_t dim) {
  Tensor front = input;
  for (std::int64_t d = 0; d < input.ndim(); ++d)
    if (d != dim && shape[d] != input.size(d)) front = narrow(front, d, 0, shape[d]);
  return front;
}

bool is_one_number(const Tensor& input) {
  for (std::size_t d = 0; d < input.shape().size(); ++d)
    if (input.shape()[d] > 1 && input.strides()[d] != 0) return false;
  return true;
}

// Of equal neighbours the last.
Tensor ends_of_runs(const Tensor& sorted, std::int64_t dim) {
  Dims edge(sorted.shape());
  edge[dim] = 1;
  Tensor last = full(edge, true, boolean, sorted.device());
  const std::int64_t size = sorted.size(dim);
  if (size == 1) return last;
  return cat({ne(narrow(sorted, dim, 0, size - 1), narrow(sorted, dim, 1, size - 1)), last}, dim);
}

// For each place of `shape` along `dim` the number, from 1, of the last index that names it; 0: none does.
// The sort is stable, so that equal indices stay in order.
Tensor last_writers(IntList shape, std::int64_t dim, const Tensor& index) {
  const SortResult sorted = sort(index, dim);
  const Tensor numbers = where(ends_of_runs(sorted.values, dim), add(sorted.indices, 1), 0);
  return scatter_add(full(shape, 0, i64, index.device()), dim, sorted.values, numbers);
}

// Numbers from last_writers as indices: where there is none, any will do.
Tensor as_index(const Tensor& writers) {
  return sub(maximum(writers, 1), 1);
}

Tensor first_element(const Tensor& input) {
  Tensor one = input;
  for (std::int64_t d = 0; d < input.ndim(); ++d) one = narrow(one, d, 0, 1);
  return one;
}

// `region` with the elements of `src`, which has index's shape.
Tensor overwritten(const Tensor& region, std::int64_t dim, const Tensor& index, const Tensor& src) {
  if (is_one_number(src)) {
    const Tensor ones = full(index.shape(), 1, i64, index.device());
    const Tensor counts =
        scatter_add(full(region.shape(), 0, i64, index.device()), dim, index, ones);
    return where(gt(counts, 0), first_element(src), region);
  }
  const Tensor writers = last_writers(region.shape(), dim, index);
  return where(gt(writers, 0), gather(src, dim, as_index(writers)), region);
}

// A bool tensor is as many indices as it has dimensions.
std::vector<Tensor> without_masks(const Tensor& input, TensorList indices) {
  std::vector<Tensor> result;
  for (const Tensor& index : indices.span()) {
    if (index.dtype() != boolean) {
      BP_CHECK(index.dtype() == i64 || index.dtype() == i32,
               "index_put: an index is {}; cast it to int64 (or int32, or bool)",
               name(index.dtype()));
      result.push_back(cast(index, i64));
      continue;
    }
    const std::size_t first = result.size();
    for (std::int64_t d = 0; d < index.ndim(); ++d) {
      const auto dim = static_cast<std::int64_t>(first) + d;
      BP_CHECK(dim < input.ndim() && index.size(d) == input.size(dim),
               "index_put: a mask has shape {} and input has shape {}; make their sizes equal",
               to_string(index.shape()), to_string(input.shape()));
    }
    const Tensor places = nonzero(index);
    for (std::int64_t d = 0; d < index.ndim(); ++d) result.push_back(select(places, 1, d));
  }
  BP_CHECK(!result.empty() && static_cast<std::int64_t>(result.size()) <= input.ndim(),
           "index_put: {} indices into shape {}; pass from one up to one for each dimension",
           result.size(), to_string(input.shape()));
  return result;
}

// Which row of `input`, seen as [rows, the rest], each tuple of indices names. One that is outside in any
// dimension is outside of the rows as well, so that it is noticed.
Tensor row_numbers(const Tensor& input, std::span<const Tensor> indices, std::int64_t num_rows) {
  Tensor row, is_inside;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const std::int64_t size = input.shape()[d];
    const Tensor& index = indices[d];
    const Tensor wrapped = where(lt(index, 0), add(index, size), index);
    const Tensor fits = logical_and(ge(wrapped, 0), lt(wrapped, size));
    row = d == 0 ? wrapped : add(mul(row, size), wrapped);
    is_inside = d == 0 ? fits : logical_and(is_inside, fits);
  }
  return where(is_inside, row, num_rows);
}

// Row `rows[i]` of `lines` becomes row i of `values`.
Tensor with_rows(const Tensor& lines, const Tensor& rows, const Tensor& values) {
  const Tensor none = full({lines.size(0)}, 0, i64, lines.device());
  const Tensor writers =
      scatter(none, 0, rows, arange(1, rows.numel() + 1, 1, i64, lines.device()));
  return where(unsqueeze(gt(writers, 0), 1), index_select(values, 0, as_index(writers)), lines);
}

}  // namespace

// The values are chosen by their number and never computed with, which keeps every bit of any dtype.
Tensor scatter_by_sort(const Tensor& input, std::int64_t dim, const Tensor& index,
                       const Tensor& src) {
  if (input.ndim() == 0) return reshape(scatter_by_sort(reshape(input, {1}), 0, index, src), {});
  if (index.ndim() == 0) return scatter_by_sort(input, 0, reshape(index, {1}), src);
  if (src.ndim() == 0) return scatter_by_sort(input, 0, index, reshape(src, {1}));
  if (index.numel() == 0) return copy(input);
  const Tensor given = narrow(reached(src, index.shape(), dim), dim, 0, index.size(dim));
  const Tensor region = reached(input, index.shape(), dim);
  Tensor written = overwritten(region, dim, index, given);
  if (region.is_same(input)) return written;
  Tensor result = copy(input);
  copy_(reached(result, index.shape(), dim), written);
  return result;
}

Tensor index_put_by_rows(const Tensor& input, TensorList given, const Tensor& values,
                         bool accumulate) {
  BP_CHECK(input.dtype() == values.dtype(),
           "index_put: input is {} and values is {}; cast one of them", name(input.dtype()),
           name(values.dtype()));
  const std::vector<Tensor> indices = without_masks(input, given);
  std::int64_t num_rows = 1, row_size = 1;
  Dims shape(indices[0].shape());
  for (const Tensor& index : indices) shape = broadcast_shapes("index_put", shape, index.shape());
  const std::int64_t count = checked_numel("index_put", shape);
  for (std::int64_t d = 0; d < input.ndim(); ++d) {
    const bool is_indexed = d < static_cast<std::int64_t>(indices.size());
    (is_indexed ? num_rows : row_size) *= input.size(d);
    if (!is_indexed) shape.push_back(input.size(d));
  }
  BP_CHECK(count == 0 || num_rows > 0, "index_put: {} indices into shape {}, which has no elements",
           count, to_string(input.shape()));
  const Tensor written = expand(values, shape);
  if (count == 0 || row_size == 0) return copy(input);
  const Tensor rows = reshape(row_numbers(input, indices, num_rows), {count});
  const Tensor lines = reshape(input, {num_rows, row_size});
  const Tensor new_lines = reshape(written, {count, row_size});
  if (!accumulate) return reshape(with_rows(lines, rows, new_lines), input.shape());
  const Tensor places = expand(unsqueeze(rows, 1), {count, row_size});
  return reshape(scatter_add(lines, 0, places, new_lines), input.shape());
}

Tensor embedding_by_select(const Tensor& weight, const Tensor& indices) {
  Dims shape(indices.shape());
  shape.push_back(weight.size(1));
  return reshape(index_select(weight, 0, reshape(indices, {indices.numel()})), shape);
}

// Copies, since what is left of a sorted tensor would hold all of it.
TopkResult topk_by_sort(const Tensor& input, std::int64_t k, std::int64_t dim, bool largest) {
  const SortResult sorted = sort(input, dim, largest);
  if (input.ndim() == 0) return {sorted.values, sorted.indices};
  return {copy(narrow(sorted.values, dim, 0, k)), copy(narrow(sorted.indices, dim, 0, k))};
}

}  // namespace bp
