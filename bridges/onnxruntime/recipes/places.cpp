// Reading and writing by index.
#include <algorithm>

#include "helpers.hpp"

namespace bp::onnx {
namespace {

std::int64_t product_of(IntList sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) product *= size;
  return product;
}

IntList first_of(IntList list, std::size_t count) {
  return {list.data(), count};
}
IntList without_first(IntList list, std::size_t count) {
  return {list.data() + count, list.size() - count};
}

// Rows of indices, [..., depth], as places among the first `depth` sizes taken as one.
Tensor flat_places(const Tensor& indices, IntList sizes) {
  Tensor places;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Tensor part = whole_indices(select(indices, -1, static_cast<std::int64_t>(i)), sizes[i]);
    places = places.defined() ? places * sizes[i] + part : part;
  }
  return places;
}

std::string_view reduction_name(std::string_view reduction) {
  if (reduction == "add") return "sum";
  if (reduction == "mul") return "prod";
  return reduction == "max" ? "amax" : "amin";
}

}  // namespace

Tensor whole_indices(const Tensor& indices, std::int64_t size) {
  const Tensor wide = to(indices, i64);
  return where(wide < 0, wide + size, wide);
}

// One constant index is a view where that is contiguous; of several none of which is negative only the places are read.
Tensor gathered(const Tensor& data, const Tensor& indices, std::int64_t axis,
                const NodeFacts& node) {
  const std::int64_t dim = wrapped(axis, data.ndim());
  const auto make = [&]() -> Tensors {
    const Tensor here = cpu(to(indices, i64));
    if (here.numel() > 0 && item<std::int64_t>(min(here)) < 0 && here.numel() > 1) return {};
    const Tensor places = flatten(to(indices, i64));
    synchronize(indices.device());  // other threads read them on streams of their own
    return {places, flatten(here)};
  };
  const Tensors known = node.inputs[1].is_constant ? node.kept->get(make) : Tensors{};
  const bool is_one = !known.empty() && known[1].numel() == 1;
  if (is_one && indices.ndim() <= 1) {
    const auto index = item<std::int64_t>(known[1]);
    const Tensor rows = narrow(data, dim, index < 0 ? index + data.size(dim) : index, 1);
    if (rows.is_contiguous()) return indices.ndim() == 1 ? rows : squeeze(rows, {dim});
  }
  const bool are_places = !known.empty() && !is_one;
  const Tensor rows = index_select(
      data, dim, are_places ? known[0] : flatten(whole_indices(indices, data.size(dim))));
  Dims shape;
  for (std::int64_t i = 0; i < dim; ++i) shape.push_back(data.size(i));
  for (const std::int64_t size : indices.shape()) shape.push_back(size);
  for (std::int64_t i = dim + 1; i < data.ndim(); ++i) shape.push_back(data.size(i));
  return reshape(rows, shape);
}

Tensor gathered_nd(const Tensor& data, const Tensor& indices, std::int64_t batch_dims) {
  const auto batch = static_cast<std::size_t>(batch_dims);
  const auto depth = static_cast<std::size_t>(indices.size(-1));
  const IntList shape = data.shape(), outer = indices.shape();
  const std::int64_t batches = product_of(first_of(shape, batch)),
                     within = product_of(first_of(without_first(shape, batch), depth));
  const IntList rest = without_first(shape, batch + depth);
  Tensor places =
      depth ? flat_places(indices, first_of(without_first(shape, batch), depth))
            : zeros(first_of(outer, outer.size() - 1), {.dtype = i64, .device = data.device()});
  places = reshape(places, {batches, -1});
  places = places +
           reshape(arange(0, batches, 1, {.dtype = i64, .device = data.device()}), {batches, 1}) *
               within;
  const Tensor rows =
      index_select(reshape(data, {batches * within, product_of(rest)}), 0, flatten(places));
  Dims result(first_of(outer, outer.size() - 1));
  for (const std::int64_t size : rest) result.push_back(size);
  return reshape(rows, result);
}

Tensor scattered(const Tensor& data, const Tensor& indices, const Tensor& updates,
                 std::int64_t axis, std::string_view reduction) {
  const Tensor places = whole_indices(indices, data.size(axis));
  if (reduction == "none") return scatter(data, axis, places, updates);
  return scatter_reduce(data, axis, places, updates, reduction_name(reduction));
}

Tensor scattered_nd(const Tensor& data, const Tensor& indices, const Tensor& updates,
                    std::string_view reduction) {
  const auto depth = static_cast<std::size_t>(indices.size(-1));
  const IntList shape = data.shape();
  const std::int64_t width = product_of(without_first(shape, depth));
  const Tensor places = reshape(flat_places(indices, first_of(shape, depth)), {-1, 1});
  const Tensor rows = reshape(data, {-1, width}), values = reshape(updates, {-1, width});
  const Tensor everywhere = expand(places, {places.size(0), width});
  const Tensor result =
      reduction == "none" ? scatter(rows, 0, everywhere, values)
                          : scatter_reduce(rows, 0, everywhere, values, reduction_name(reduction));
  return reshape(result, shape);
}

Tensor one_hot_values(const Tensor& indices, std::int64_t depth, const Tensor& values,
                      std::int64_t axis) {
  const std::int64_t dim = wrapped(axis, indices.ndim() + 1);
  const Tensor places = unsqueeze(whole_indices(indices, depth), dim);
  Dims shape(static_cast<std::uint32_t>(indices.ndim() + 1), 1);
  shape[static_cast<std::size_t>(dim)] = depth;
  const Tensor counts =
      reshape(arange(0, depth, 1, {.dtype = i64, .device = indices.device()}), shape);
  return where(eq(places, counts), select(values, 0, 1), select(values, 0, 0));
}

Tensor compressed(const Tensor& input, IntList condition, std::optional<std::int64_t> axis) {
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < condition.size(); ++i)
    if (condition[i]) places.push_back(static_cast<std::int64_t>(i));
  const Tensor index = tensor(places, {.device = input.device()});
  return axis ? index_select(input, *axis, index) : index_select(flatten(input), 0, index);
}

Tensors different_slices(const Tensor& input, std::optional<std::int64_t> axis, bool ascending) {
  const Tensor data = axis ? input : flatten(input);
  const std::int64_t dim = axis ? wrapped(*axis, input.ndim()) : 0;
  UniqueAllResult found;
  if (axis && data.numel() > 0) {
    // A slice's number among those that differ so far, element by element, which keeps their order.
    const Tensor rows = reshape(movedim(data, {dim}, {0}), {data.size(dim), -1});
    for (std::int64_t i = 0; i < rows.size(1); ++i) {
      const UniqueAllResult column = unique_all(select(rows, 1, i));
      found =
          i == 0
              ? column
              : unique_all(found.inverse_indices * column.values.numel() + column.inverse_indices);
    }
  } else {
    found = unique_all(data);
  }
  if (ascending)
    return {index_select(data, dim, found.indices), found.indices, found.inverse_indices,
            found.counts};
  const Tensor order = argsort(found.indices);
  const Tensor places = index_select(found.indices, 0, order);
  return {index_select(data, dim, places), places,
          index_select(argsort(order), 0, found.inverse_indices),
          index_select(found.counts, 0, order)};
}

Tensor eye_like(const Tensor& input, Dtype dtype, std::int64_t k) {
  const TensorOptions options{.dtype = i64, .device = input.device()};
  const Tensor rows = reshape(arange(0, input.size(0), 1, options), {-1, 1});
  return to(eq(rows + k, arange(0, input.size(1), 1, options)), dtype);
}

Tensor written_into(const Tensor& cache, const Tensor& update, const Tensor& places,
                    std::int64_t axis, bool circular) {
  const std::int64_t dim = wrapped(axis, cache.ndim());
  const TensorOptions options{.dtype = i64, .device = cache.device()};
  Dims lengths(static_cast<std::uint32_t>(cache.ndim()), 1), batches = lengths;
  lengths[static_cast<std::size_t>(dim)] = update.size(dim);
  batches[0] = cache.size(0);
  Tensor index = reshape(arange(0, update.size(dim), 1, options), lengths);
  if (places.defined()) index = index + reshape(to(places, i64), batches);
  if (circular) index = remainder(index, cache.size(dim));
  return scatter(cache, dim, contiguous(expand(index, update.shape())), update);
}

Tensors largest(const Tensor& input, std::int64_t k, std::int64_t axis, bool is_largest) {
  const TopkResult found = topk(input, k, axis, is_largest, true);
  return {found.values, found.indices};
}

}  // namespace bp::onnx
