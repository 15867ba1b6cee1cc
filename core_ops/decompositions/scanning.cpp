#include "decompositions/scanning.hpp"

#include <limits>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/forms.hpp>
#include <backplane/tensor/check.hpp>

#include "decompositions/doubling.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

Tensor numbers_along(const Tensor& input, std::int64_t along) {
  const Tensor line = arange(0, input.size(along), 1, i64, input.device());
  return expand(along_dim(line, along, input.ndim()), input.shape());
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

}  // namespace bp
