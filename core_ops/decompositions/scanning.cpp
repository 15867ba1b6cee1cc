#include "decompositions/scanning.hpp"

#include <limits>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/forms.hpp>
#include <backplane/tensor/check.hpp>

#include "rules/decompositions.hpp"

namespace bp {
namespace {

Tensor numbers_along(const Tensor& input, std::int64_t along) {
  const Tensor line = arange(0, input.size(along), 1, i64, input.device());
  return expand(along_dim(line, along, input.ndim()), input.shape());
}

Tensor all_but_first(const Tensor& input, std::int64_t along, std::int64_t count) {
  return narrow(input, along, count, input.size(along) - count);
}
Tensor all_but_last(const Tensor& input, std::int64_t along, std::int64_t count) {
  return narrow(input, along, 0, input.size(along) - count);
}
// `later` behind the first elements of `input`, which stay.
Tensor behind_first(const Tensor& input, std::int64_t along, std::int64_t count,
                    const Tensor& later) {
  return cat({narrow(input, along, 0, count), later}, along);
}

// Each with what came before, over distances that double. `join` is associative.
template <class Join> Tensor scanned(Tensor input, std::int64_t along, const Join& join) {
  for (std::int64_t step = 1; step < input.size(along); step *= 2) {
    const Tensor later = join(all_but_last(input, along, step), all_but_first(input, along, step));
    input = behind_first(input, along, step, later);
  }
  return input;
}

// True where an element differs from the one before it.
Tensor starts_of_runs(const Tensor& sorted, std::int64_t along) {
  Dims edge(sorted.shape());
  edge[along] = 1;
  const Tensor first = full(edge, true, boolean, sorted.device());
  if (sorted.size(along) == 1) return first;
  return cat({first, ne(all_but_first(sorted, along, 1), all_but_last(sorted, along, 1))}, along);
}

std::int64_t checked_line(const char* op, const Tensor& input, std::int64_t dim) {
  const std::int64_t along = wrap_dim(op, dim, input.ndim());
  BP_CHECK(input.ndim() == 0 || input.size(along) > 0,
           "{}: dimension {} of shape {} has no elements; take another", op, along,
           to_string(input.shape()));
  return along;
}

PlacedElements only_element(const Tensor& input) {
  return {copy(input), full({}, 0, i64, input.device())};
}

PlacedElements at_place(const SortResult& sorted, std::int64_t along, const Tensor& place,
                        bool keepdim) {
  const Tensor values = gather(sorted.values, along, place);
  const Tensor indices = gather(sorted.indices, along, place);
  if (keepdim) return {values, indices};
  return {squeeze(values, {along}), squeeze(indices, {along})};
}

Tensor numbers_like(const Tensor& index, double value, Dtype dtype) {
  return full(index.shape(), value, dtype, index.device());
}

// Nothing in the place of what `index` names.
Tensor without_named(const Tensor& input, std::int64_t dim, const Tensor& index) {
  return scatter(input, dim, index, numbers_like(index, 0, input.dtype()));
}

Tensor added_by_index(const Tensor& input, std::int64_t dim, const Tensor& index, const Tensor& src,
                      bool is_mean, bool include_self) {
  const Tensor from = include_self ? input : without_named(input, dim, index);
  const Tensor total = scatter_add(from, dim, index, src);
  if (!is_mean) return total;
  const Tensor self = full(input.shape(), include_self ? 1 : 0, i64, input.device());
  const Tensor counts = clamp_min(scatter_add(self, dim, index, numbers_like(index, 1, i64)), 1);
  if (!is_floating(input.dtype())) return floor_divide(total, in_dtype(counts, input.dtype()));
  return div(total, cast(counts, input.dtype()));
}

// Sorted by index, those of one place stand together, and the last of them has seen all.
template <class Join>
Tensor joined_by_index(const Tensor& input, std::int64_t along, const Tensor& index,
                       const Tensor& src, bool include_self, const Join& join) {
  const SortResult sorted = sort(index, along);
  const Tensor places = sorted.values;
  Tensor joined = gather(src, along, sorted.indices);
  for (std::int64_t step = 1; step < places.size(along); step *= 2) {
    const Tensor is_same =
        eq(all_but_last(places, along, step), all_but_first(places, along, step));
    const Tensor later = all_but_first(joined, along, step);
    joined = behind_first(joined, along, step,
                          where(is_same, join(all_but_last(joined, along, step), later), later));
  }
  if (include_self) joined = join(gather(input, along, places), joined);
  return scatter(input, along, places, joined);
}

// The front of `src` that `index` reaches.
Tensor as_far_as(const Tensor& index, const Tensor& src) {
  Tensor front = src;
  for (std::int64_t d = 0; d < index.ndim(); ++d)
    if (front.size(d) != index.size(d)) front = narrow(front, d, 0, index.size(d));
  return front;
}

}  // namespace

// Of equal ones the last; NaN is the first of all from there on.
PlacedElements running_extreme(const Tensor& input, std::int64_t dim, bool is_largest) {
  const std::int64_t along = wrap_dim(is_largest ? "cummax" : "cummin", dim, input.ndim());
  if (input.ndim() == 0) return only_element(input);
  if (input.numel() == 0) return {copy(input), full(input.shape(), 0, i64, input.device())};
  Tensor values = input, places = numbers_along(input, along);
  for (std::int64_t step = 1; step < input.size(along); step *= 2) {
    const Tensor later = all_but_first(values, along, step),
                 earlier = all_but_last(values, along, step);
    Tensor stays = is_largest ? ge(later, earlier) : le(later, earlier);
    if (is_floating(input.dtype())) stays = logical_or(stays, ne(later, later));
    values = behind_first(values, along, step, where(stays, later, earlier));
    places = behind_first(
        places, along, step,
        where(stays, all_but_first(places, along, step), all_but_last(places, along, step)));
  }
  return {fresh(values, input), copy(places)};
}

// Two of -infinity, of which logaddexp has no derivative, are kept from it.
Tensor running_logsumexp(const Tensor& input, std::int64_t dim) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::int64_t along = wrap_dim("logcumsumexp", dim, input.ndim());
  BP_CHECK(is_floating(input.dtype()), "logcumsumexp: input is {}; cast it to a floating dtype",
           name(input.dtype()));
  if (input.ndim() == 0 || input.numel() == 0) return copy(input);
  const auto join = [](const Tensor& earlier, const Tensor& later) {
    const Tensor is_nothing = logical_and(eq(earlier, -infinity), eq(later, -infinity));
    const Tensor sum = logaddexp(where(is_nothing, 0, earlier), where(is_nothing, 0, later));
    return where(is_nothing, later, sum);
  };
  return fresh(in_dtype(scanned(widened(input), along, join), input.dtype()), input);
}

// The place of the longest run's end among sorted elements, of the first of such runs.
PlacedElements most_frequent(const Tensor& input, std::int64_t dim, bool keepdim) {
  const std::int64_t along = checked_line("mode", input, dim);
  if (input.ndim() == 0) return only_element(input);
  const SortResult sorted = sort(input, along);
  const Tensor numbers = numbers_along(input, along);
  const auto join = [](const Tensor& earlier, const Tensor& later) {
    return maximum(earlier, later);
  };
  const Tensor starts =
      scanned(where(starts_of_runs(sorted.values, along), numbers, 0), along, join);
  return at_place(sorted, along, argmax(sub(numbers, starts), along, true), keepdim);
}

PlacedElements element_in_order(const Tensor& input, std::int64_t k, std::int64_t dim,
                                bool keepdim) {
  const std::int64_t along = checked_line("kthvalue", input, dim);
  const std::int64_t size = input.ndim() == 0 ? 1 : input.size(along);
  BP_CHECK(k >= 1 && k <= size,
           "kthvalue: k is {} for {} elements along dimension {}; pass 1 to {}", k, size, along,
           size);
  if (input.ndim() == 0) return only_element(input);
  Dims line(input.shape());
  line[along] = 1;
  return at_place(sort(input, along), along, full(line, k - 1, i64, input.device()), keepdim);
}

// NaN is sorted behind all else, so that the count of the others says where the part `q` lies.
Tensor quantile_without_nan(const Tensor& input, double q, std::optional<std::int64_t> dim,
                            bool keepdim, std::string_view interpolation) {
  BP_CHECK(q >= 0 && q <= 1, "nanquantile: q is {}; pass a part from 0 to 1", q);
  const bool is_whole = !dim || input.ndim() == 0;
  const std::int64_t along = dim ? wrap_dim("nanquantile", *dim, input.ndim()) : 0;
  const Tensor lines = is_whole ? reshape(input, {input.numel()}) : movedim(input, {along}, {-1});
  BP_CHECK(lines.size(-1) > 0,
           "nanquantile: shape {} has no elements there; take another dimension",
           to_string(input.shape()));
  const Tensor sorted = sort(widened(lines), -1).values;
  const Tensor count = sum(cast(eq(sorted, sorted), sorted.dtype()), {-1}, true);
  const Tensor place = mul(clamp_min(sub(count, 1), 0), q);
  const Tensor below = floor(place), above = ceil(place);
  const auto at = [&](const Tensor& where_at) { return gather(sorted, -1, cast(where_at, i64)); };
  Tensor result;
  if (interpolation == "lower") {
    result = at(below);
  } else if (interpolation == "higher") {
    result = at(above);
  } else if (interpolation == "nearest") {
    result = at(round(place));
  } else {
    BP_CHECK(interpolation == "linear" || interpolation == "midpoint",
             "nanquantile: the interpolation is '{}'; choose 'linear', 'lower', 'higher', "
             "'nearest' or 'midpoint'",
             interpolation);
    const Tensor low = at(below), is_between = ne(above, below);
    const Tensor share =
        interpolation == "linear" ? sub(place, below) : mul(cast(is_between, place.dtype()), 0.5);
    result = where(is_between, add(low, mul(sub(at(above), low), share)), low);
  }
  result = in_dtype(squeeze(result, {-1}), input.dtype());
  if (!keepdim) return result;
  Dims shape(input.shape());
  for (std::int64_t d = 0; d < input.ndim(); ++d)
    if (is_whole || d == along) shape[d] = 1;
  return reshape(result, shape);
}

Tensor reduced_by_index(const Tensor& input, std::int64_t dim, const Tensor& index,
                        const Tensor& src, std::string_view reduce, bool include_self) {
  const auto one = [](const Tensor& part) { return part.ndim() == 0 ? reshape(part, {1}) : part; };
  const std::int64_t along = wrap_dim("scatter_reduce", dim, input.ndim());
  if (input.ndim() == 0)
    return reshape(reduced_by_index(one(input), 0, one(index), one(src), reduce, include_self), {});
  if (index.ndim() == 0)
    return reduced_by_index(input, dim, one(index), one(src), reduce, include_self);
  BP_CHECK(input.dtype() == src.dtype(),
           "scatter_reduce: input is {} and src is {}; cast one of them", name(input.dtype()),
           name(src.dtype()));
  BP_CHECK(src.ndim() == index.ndim() && index.ndim() == input.ndim(),
           "scatter_reduce: input, index and src have {}, {} and {} dimensions; make them equal",
           input.ndim(), index.ndim(), src.ndim());
  for (std::int64_t d = 0; d < input.ndim(); ++d)
    BP_CHECK(index.size(d) <= src.size(d) && (d == along || index.size(d) <= input.size(d)),
             "scatter_reduce: index of shape {} reaches beyond src of shape {} or input of shape "
             "{}; narrow it",
             to_string(index.shape()), to_string(src.shape()), to_string(input.shape()));
  if (index.numel() == 0) return copy(input);
  const Tensor given = as_far_as(index, src);
  if (reduce == "sum" || reduce == "mean")
    return added_by_index(input, along, index, given, reduce == "mean", include_self);
  if (reduce == "prod")
    return joined_by_index(input, along, index, given, include_self,
                           [](const Tensor& a, const Tensor& b) { return mul(a, b); });
  if (reduce == "amax")
    return joined_by_index(input, along, index, given, include_self,
                           [](const Tensor& a, const Tensor& b) { return maximum(a, b); });
  BP_CHECK(reduce == "amin",
           "scatter_reduce: it reduces by '{}'; choose 'sum', 'prod', 'mean', 'amax' or 'amin'",
           reduce);
  return joined_by_index(input, along, index, given, include_self,
                         [](const Tensor& a, const Tensor& b) { return minimum(a, b); });
}

Tensor slices_reduced_by_index(const Tensor& input, std::int64_t dim, const Tensor& index,
                               const Tensor& source, std::string_view reduce, bool include_self) {
  const std::int64_t along = wrap_dim("index_reduce", dim, input.ndim());
  BP_CHECK(index.ndim() <= 1, "index_reduce: index has shape {}; pass a vector",
           to_string(index.shape()));
  BP_CHECK(reduce != "sum", "index_reduce: it does not sum; call index_add");
  const bool fits = source.ndim() == input.ndim();
  const std::int64_t size = fits && source.ndim() > 0 ? source.size(along) : 1;
  BP_CHECK(fits && index.numel() == size,
           "index_reduce: {} indices for source of shape {} and input of shape {}; pass one index "
           "for each slice",
           index.numel(), to_string(source.shape()), to_string(input.shape()));
  if (input.ndim() == 0)
    return scatter_reduce(input, 0, reshape(index, {}), source, reduce, include_self);
  const Tensor each =
      expand(along_dim(reshape(index, {size}), along, input.ndim()), source.shape());
  return scatter_reduce(input, along, each, source, reduce, include_self);
}

// Each element's bag; the rows of all of them are added up in it, or the largest taken.
Tensor bags_of_rows(const Tensor& input, const Tensor& weight, const Tensor& offsets,
                    std::string_view mode, const Tensor& per_sample_weights,
                    bool include_last_offset, std::int64_t padding_idx) {
  BP_CHECK(mode == "sum" || mode == "mean" || mode == "max",
           "embedding_bag: the mode is '{}'; choose 'sum', 'mean' or 'max'", mode);
  BP_CHECK(weight.ndim() == 2, "embedding_bag: weight has shape {}; pass a matrix",
           to_string(weight.shape()));
  BP_CHECK(input.ndim() == 2 ? !offsets.defined()
                             : input.ndim() == 1 && offsets.defined() && offsets.ndim() == 1,
           "embedding_bag: input has shape {} and there are {} offsets; pass a matrix alone, or a "
           "vector and where its bags begin",
           to_string(input.shape()), offsets.defined() ? offsets.numel() : 0);
  BP_CHECK(!offsets.defined() || is_integral(offsets.dtype()),
           "embedding_bag: offsets are {}; cast them to int64", name(offsets.dtype()));
  BP_CHECK(!per_sample_weights.defined() ||
               (mode == "sum" && per_sample_weights.shape() == input.shape()),
           "embedding_bag: weights of shape {} for input of shape {} by '{}'; pass one for each, "
           "and 'sum'",
           to_string(per_sample_weights.shape()), to_string(input.shape()), mode);
  const std::int64_t count = input.numel(), width = weight.size(1);
  const std::int64_t last = include_last_offset ? 1 : 0;
  const std::int64_t bags = input.ndim() == 2 ? input.size(0) : offsets.numel() - last;
  BP_CHECK(bags >= 0, "embedding_bag: no offset says where the last bag ends; pass one");
  const Tensor line = reshape(input, {count});
  const Tensor numbers = arange(0, count, 1, i64, input.device());
  Tensor bag;
  if (input.ndim() == 2) {
    bag = input.size(1) == 0 ? numbers : floor_divide(numbers, input.size(1));
  } else {
    // What lies behind a last offset belongs to the bag behind the others.
    bag = sub(searchsorted(in_dtype(offsets, i64), numbers, false, true), 1);
  }
  const Tensor is_counted = ne(line, padding_idx);
  Tensor rows = embedding(weight, line, padding_idx);
  if (per_sample_weights.defined())
    rows = mul(rows, unsqueeze(reshape(per_sample_weights, {count}), 1));
  const Tensor none = full({bags, width}, 0, weight.dtype(), weight.device());
  if (count == 0 || bags == 0) return none;
  bag = where(is_counted, bag, bags);
  const Tensor places = expand(unsqueeze(bag, 1), {count, width});
  const Tensor room = full({bags + 1, width}, 0, weight.dtype(), weight.device());
  const std::string_view reduce = mode == "max" ? "amax" : mode;
  return copy(narrow(scatter_reduce(room, 0, places, rows, reduce, false), 0, 0, bags));
}

// The pairs in the order of cdist's upper triangle: how many begin with an earlier vector says with which one this does.
Tensor distances_of_pairs(const Tensor& input, double p) {
  BP_CHECK(input.ndim() == 2 && is_floating(input.dtype()),
           "pdist: input is {} of shape {}; pass a matrix of a floating dtype", name(input.dtype()),
           to_string(input.shape()));
  BP_CHECK(p >= 0, "pdist: p is {}; pass 0 or more", p);
  const std::int64_t size = input.size(0);
  BP_CHECK(size < std::int64_t{1} << 31, "pdist: {} vectors, whose pairs have no room; pass fewer",
           size);
  const std::int64_t pairs = size * (size - 1) / 2;
  if (pairs <= 0) return full({0}, 0, input.dtype(), input.device());
  const Tensor vectors = arange(0, size - 1, 1, i64, input.device());
  const Tensor begins = floor_divide(mul(vectors, sub(2 * size - 1, vectors)), 2);
  const Tensor numbers = arange(0, pairs, 1, i64, input.device());
  const Tensor first = sub(searchsorted(begins, numbers, false, true), 1);
  const Tensor second = add(add(sub(numbers, gather(begins, 0, first)), first), 1);
  return norm(sub(index_select(input, 0, first), index_select(input, 0, second)), p, {1});
}

}  // namespace bp
