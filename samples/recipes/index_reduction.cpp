// Samples of rows that reduce by index.
#include <string_view>

#include <backplane/tensor/views.hpp>

#include "draft.hpp"

namespace bp {
namespace {

std::string_view reduction_of(Draft& draft, bool by_slices) {
  if (draft.is("product", "product_alone", "negative_dim")) return "prod";
  if (draft.is("largest", "largest_alone", "repeated_index")) return "amax";
  if (draft.is("smallest", "transposed")) return "amin";
  if (draft.is("mean", "mean_alone") || by_slices) return "mean";
  return "sum";
}

void draft_reduced_by_index(Draft& draft, bool by_slices) {
  const bool is_smaller = draft.is("smaller_index"), is_larger = draft.is("larger_source");
  const bool is_first = draft.is("first_dim"), is_negative = draft.is("negative_dim");
  const bool is_alone = draft.is("alone", "product_alone", "mean_alone", "largest_alone");
  const std::string_view reduce = reduction_of(draft, by_slices);
  Dims shape = draft.is("non_contiguous", "transposed", "zero_dim") ? draft.shape()
               : draft.is("several_tiles")                          ? Dims{5, 134}
                                                                    : Dims{4, 6};
  draft.is("last_dim", "zero_size");
  draft.add(draft.tensor(shape));
  const std::int64_t place = shape.empty() || is_first ? 0 : 1;
  draft.add_value(is_negative ? std::int64_t{-1} : place);
  Dims index_shape = is_smaller || is_larger ? Dims{2, 3} : shape;
  if (draft.is("zero_size")) index_shape = {4, 0};
  const std::int64_t end = shape.empty()                ? 1
                           : draft.is("repeated_index") ? 2
                           : is_alone                   ? 3
                                                        : shape[static_cast<std::uint32_t>(place)];
  const auto along = static_cast<std::uint32_t>(place);
  draft.add(draft.indices(by_slices ? Dims{index_shape[along]} : index_shape, end));
  draft.add(draft.tensor(is_larger ? Dims{3, 5} : index_shape));
  draft.add_value(reduce);
  if (is_alone) draft.add_value(false);
}

void draft_bags(Draft& draft) {
  const bool by_offsets = draft.is("by_offsets"), has_empty = draft.is("empty_bags");
  const bool has_last = draft.is("last_offset"), is_weighted = draft.is("weighted");
  const bool is_padded = draft.is("padded"), is_repeated = draft.is("repeated_index");
  const bool is_summed = is_weighted || draft.is("summed");
  const bool is_largest = draft.is("largest"), is_long = draft.is("several_tiles");
  draft.is("matrix", "non_contiguous");
  const bool is_vector = by_offsets || has_empty || has_last;
  const Dims rows = has_last                ? Dims{1}
                    : is_vector             ? Dims{7}
                    : draft.is("zero_size") ? Dims{0, 3}
                    : is_long               ? Dims{9, 4}
                                            : Dims{3, 4};
  draft.add(draft.indices(rows, is_repeated || is_padded ? 2 : 6));
  draft.add(draft.tensor({6, is_long ? 134 : 5}));
  if (!is_vector)
    draft.add_none();
  else
    draft.add(has_empty ? draft.indices({3}, 1)                          // [0, 0, 0]
                        : views::narrow(draft.specials(i64), 0, 0, 2));  // [0, 1]
  draft.add_value(std::string_view(is_summed ? "sum" : is_largest ? "max" : "mean"));
  is_weighted ? draft.add(draft.tensor(rows)) : draft.add_none();
  draft.add_value(has_last);
  if (is_padded) draft.add_value(std::int64_t{1});
}

}  // namespace

void draft_index_reduction(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "embedding_bag") return draft_bags(draft);
  draft_reduced_by_index(draft, name == "index_reduce");
}

}  // namespace bp
