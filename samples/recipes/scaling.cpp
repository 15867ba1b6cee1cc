// Samples of rows that divide by norms, neighbours and moments.
#include <string_view>

#include "draft.hpp"

namespace bp {
namespace {

void draft_hardmax(Draft& draft) {
  const bool is_first = draft.is("first_dim"), is_negative = draft.is("negative_dim");
  draft.add(draft.tensor(is_first || is_negative || draft.is("same") ? Dims{4, 6} : draft.shape()));
  if (is_first) draft.add_value(std::int64_t{0});
  if (is_negative) draft.add_value(std::int64_t{-2});
}

void draft_moments(Draft& draft) {
  const bool is_one = draft.is("one_dim"), is_negative = draft.is("negative_dim");
  const bool has_usual_shape = is_one || is_negative || draft.is("same");
  const Dims shape = draft.is("images") ? Dims{2, 3, 4, 5}
                     : has_usual_shape  ? Dims{6, 3, 4}
                                        : draft.shape();
  draft.add(draft.tensor(shape));
  if (is_one) draft.add_list({1});
  if (is_negative) draft.add_list({0, -1});
}

void draft_neighbours(Draft& draft) {
  const bool is_even = draft.is("even"), is_wide = draft.is("wider");
  const bool has_numbers = draft.is("numbers"), is_image = draft.is("images", "channels_last");
  draft.is("same", "non_contiguous", "transposed");
  const Dims shape = is_image                    ? Dims{2, 5, 3, 2}
                     : draft.is("zero_size")     ? Dims{0, 5, 2}
                     : draft.is("several_tiles") ? Dims{2, 7, 149}
                                                 : Dims{2, 6, 4};
  draft.add(draft.tensor(shape));
  draft.add_value(is_even ? std::int64_t{4} : is_wide ? std::int64_t{15} : std::int64_t{3});
  if (!has_numbers) return;
  draft.add_value(0.25);
  draft.add_value(0.5);
  draft.add_value(2.0);
}

void draft_weight(Draft& draft) {
  const bool is_last = draft.is("last_dim"), is_middle = draft.is("middle_dim");
  const bool is_whole = draft.is("whole");
  draft.is("same", "non_contiguous", "transposed");
  const Dims shape = draft.is("zero_size")       ? Dims{0, 5}
                     : draft.is("several_tiles") ? Dims{7, 1031}
                                                 : Dims{4, 3, 5};
  const std::size_t dim = is_last ? 2 : is_middle ? 1 : 0;
  Dims of_g(static_cast<std::uint32_t>(shape.size()), 1);
  of_g[dim] = shape[dim];
  draft.add(draft.tensor(shape));
  draft.add(draft.between(is_whole ? Dims{} : of_g, 0.5, 2));
  draft.add_value(is_whole ? std::int64_t{-1} : static_cast<std::int64_t>(dim));
}

}  // namespace

void draft_scaling(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "hardmax") return draft_hardmax(draft);
  if (name == "mean_variance_normalization") return draft_moments(draft);
  if (name == "weight_norm") return draft_weight(draft);
  draft_neighbours(draft);
}

}  // namespace bp
