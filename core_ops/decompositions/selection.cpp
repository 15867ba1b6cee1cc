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
  return where(gt(writers, 0), gather(src, dim, index_of_writer(writers)), region);
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
