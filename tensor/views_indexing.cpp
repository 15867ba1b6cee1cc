// Views that show some of the elements, or one of them several times.
#include <algorithm>

#include <backplane/tensor/check.hpp>
#include <backplane/tensor/views.hpp>

namespace bp::views {
namespace {

void check_has_dims(const char* op, const Tensor& base) {
  BP_CHECK(base.ndim() > 0, "{}: a 0-dim tensor has no dimension to take from; unsqueeze it first",
           op);
}

// A part of one dimension. `start` lies within it, or at its end for an empty part.
Tensor part(const Tensor& base, std::int64_t dim, std::int64_t start, std::int64_t size,
            std::int64_t step) {
  Dims shape(base.shape());
  Dims strides(base.strides());
  const std::int64_t offset = base.storage_offset() + start * strides[dim];
  // A step over the end is never taken, and could overflow.
  strides[dim] *= std::min(step, std::max<std::int64_t>(shape[dim], 1));
  shape[dim] = size;
  return make_view(base, shape, strides, offset);
}

// Is the last element inside? In 128 bits, since strides are the caller's.
bool stays_inside(const Tensor& base, IntList shape, IntList strides, std::int64_t offset) {
  const Storage* storage = base.impl()->storage;
  if (!storage || std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
  __extension__ using Wide = __int128;
  Wide last = offset;
  const Wide elements = static_cast<Wide>(storage->bytes / base.itemsize());
  for (std::size_t dim = 0; dim < shape.size() && last < elements; ++dim)
    last += static_cast<Wide>(shape[dim] - 1) * strides[dim];
  return last < elements;
}

}  // namespace

Tensor slice(const Tensor& base, std::int64_t dim, std::optional<std::int64_t> start,
             std::optional<std::int64_t> end, std::int64_t step) {
  check_has_dims("slice", base);
  dim = wrap_dim("slice", dim, base.ndim());
  BP_CHECK(step > 0, "slice: step {} is not positive; pass 1 or more", step);
  const std::int64_t size = base.shape()[dim];
  const auto clamped = [size](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const std::int64_t from = clamped(start.value_or(0));
  const std::int64_t to = std::max(clamped(end.value_or(size)), from);
  const std::int64_t count = to == from ? 0 : (to - from - 1) / step + 1;
  return part(base, dim, from, count, step);
}

Tensor select(const Tensor& base, std::int64_t dim, std::int64_t index) {
  check_has_dims("select", base);
  dim = wrap_dim("select", dim, base.ndim());
  const std::int64_t size = base.shape()[dim];
  BP_CHECK(index >= -size && index < size,
           "select: index {} is outside of dimension {}, of size {}, in shape {}", index, dim, size,
           to_string(base.shape()));
  if (index < 0) index += size;
  Dims shape(base.shape());
  Dims strides(base.strides());
  const std::int64_t offset = base.storage_offset() + index * strides[dim];
  shape.erase(dim);
  strides.erase(dim);
  return make_view(base, shape, strides, offset);
}

Tensor narrow(const Tensor& base, std::int64_t dim, std::int64_t start, std::int64_t length) {
  check_has_dims("narrow", base);
  dim = wrap_dim("narrow", dim, base.ndim());
  const std::int64_t size = base.shape()[dim];
  BP_CHECK(start >= -size && start <= size,
           "narrow: start {} is outside of dimension {}, of size {}; pass one from {} to {}", start,
           dim, size, -size, size);
  const std::int64_t from = start < 0 ? start + size : start;
  BP_CHECK(
      length >= 0 && length <= size - from,
      "narrow: length {} from {} on does not fit dimension {}, of size {}; pass one from 0 to {}",
      length, from, dim, size, size - from);
  return part(base, dim, from, length, 1);
}

Tensor as_strided(const Tensor& base, IntList shape, IntList strides,
                  std::optional<std::int64_t> storage_offset) {
  check_rank("as_strided", shape.size());
  BP_CHECK(shape.size() == strides.size(),
           "as_strided: shape {} and strides {} differ in length; give one stride per dimension",
           to_string(shape), to_string(strides));
  for (std::int64_t stride : strides)
    BP_CHECK(stride >= 0, "as_strided: stride {} in {} is negative; strides are 0 or more", stride,
             to_string(strides));
  const std::int64_t offset = storage_offset.value_or(base.storage_offset());
  BP_CHECK(offset >= 0, "as_strided: storage_offset {} is negative; it counts from the start",
           offset);
  checked_numel("as_strided", shape);
  BP_CHECK(stays_inside(base, shape, strides, offset),
           "as_strided: shape {}, strides {} and storage_offset {} reach past the storage of {} "
           "elements; make one of them smaller",
           to_string(shape), to_string(strides), offset,
           base.impl()->storage->bytes / base.itemsize());
  return make_view(base, shape, strides, offset);
}

Tensor unfold(const Tensor& base, std::int64_t dim, std::int64_t size, std::int64_t step) {
  const std::int64_t rank = base.ndim();
  check_rank("unfold", static_cast<std::size_t>(rank) + 1);
  dim = wrap_dim("unfold", dim, rank);
  const std::int64_t available = rank > 0 ? base.shape()[dim] : 1;
  BP_CHECK(size >= 0 && size <= available,
           "unfold: windows of {} do not fit dimension {}, of size {}; pass a size from 0 to {}",
           size, dim, available, available);
  BP_CHECK(step > 0, "unfold: step {} is not positive; pass 1 or more", step);
  Dims shape(base.shape());
  Dims strides(base.strides());
  shape.push_back(size);
  strides.push_back(rank > 0 ? strides[dim] : 1);
  if (rank > 0) {
    shape[dim] = (available - size) / step + 1;
    strides[dim] *= std::min(step, std::max<std::int64_t>(available, 1));
  }
  return make_view(base, shape, strides, base.storage_offset());
}

Tensor diagonal(const Tensor& base, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  const std::int64_t rank = base.ndim();
  BP_CHECK(rank >= 2, "diagonal: shape {} has less than two dimensions", to_string(base.shape()));
  const std::int64_t rows = wrap_dim("diagonal", dim1, rank);
  const std::int64_t columns = wrap_dim("diagonal", dim2, rank);
  BP_CHECK(rows != columns, "diagonal: dim1 {} and dim2 {} are the same dimension; name two", dim1,
           dim2);
  Dims shape(base.shape());
  Dims strides(base.strides());
  std::int64_t size = offset >= 0 ? std::min(shape[rows], shape[columns] - offset)
                                  : std::min(shape[rows] + offset, shape[columns]);
  size = std::max<std::int64_t>(size, 0);
  std::int64_t start = base.storage_offset();
  if (size > 0) start += offset >= 0 ? offset * strides[columns] : -offset * strides[rows];
  const std::int64_t stride = strides[rows] + strides[columns];
  for (std::int64_t dim : {std::max(rows, columns), std::min(rows, columns)}) {
    shape.erase(dim);
    strides.erase(dim);
  }
  shape.push_back(size);
  strides.push_back(stride);
  return make_view(base, shape, strides, start);
}

}  // namespace bp::views
