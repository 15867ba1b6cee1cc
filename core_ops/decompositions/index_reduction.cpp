#include "decompositions/index_reduction.hpp"

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/forms.hpp>
#include <backplane/tensor/check.hpp>

#include "decompositions/doubling.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

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

}  // namespace bp
