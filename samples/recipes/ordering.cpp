// Samples of rows that search, count values, and take quantiles.
#include <string_view>

#include <backplane/tensor/views.hpp>

#include "draft.hpp"

namespace bp {
namespace {

void draft_places(Draft& draft, bool is_bucketize) {
  const bool is_right = draft.is("behind_equal"), is_narrow = draft.is("narrow_result");
  const bool is_empty = draft.is("no_sequence"), has_rows = !is_bucketize && draft.is("rows");
  const bool is_long = draft.is("several_tiles");
  const bool has_usual_shape = is_right || is_narrow || is_empty || draft.is("same");
  const Dims shape = has_rows          ? Dims{3, 4}
                     : is_long         ? Dims{7, 103}
                     : has_usual_shape ? Dims{4, 6}
                                       : draft.shape();
  const std::int64_t count = is_empty ? 0 : is_long ? 777 : 7;
  // Sorted, with equal ones.
  const Tensor sequence =
      has_rows ? views::expand(draft.rising(count), {3, count}) : draft.rising(count);
  if (!is_bucketize) draft.add(sequence);
  draft.add(draft.tensor(shape));
  if (is_bucketize) draft.add(sequence);
  if (!is_right && !is_narrow) return;
  draft.add_value(is_narrow);
  draft.add_value(is_right);
}

void draft_membership(Draft& draft) {
  const bool is_inverted = draft.is("inverted"), is_empty = draft.is("nothing_to_find");
  draft.add(draft.tensor(is_inverted || is_empty || draft.is("same") ? Dims{4, 6} : draft.shape()));
  draft.add(draft.tensor({is_empty ? 0 : 5}));
  if (!is_inverted) return;
  draft.add_value(false);
  draft.add_value(true);
}

void draft_bincount(Draft& draft) {
  const bool is_weighted = draft.is("weighted"), has_minimum = draft.is("minimum");
  draft.is("vector", "non_contiguous");
  const std::int64_t count = draft.is("zero_size")        ? 0
                             : draft.is("size_one")       ? 1
                             : draft.is("several_tiles")  ? 1031
                             : draft.is("repeated_index") ? 40
                                                          : 9;
  draft.add(draft.whole({count}, 5));
  is_weighted ? draft.add(draft.tensor({count}, f32)) : draft.add_none();
  if (has_minimum) draft.add_value(std::int64_t{8});
}

void draft_histogram(Draft& draft) {
  const bool has_few = draft.is("few_bins"), is_within = draft.is("within");
  draft.add(draft.tensor(has_few || is_within || draft.is("same") ? Dims{4, 6} : draft.shape()));
  if (!has_few && !is_within) return;
  draft.add_value(std::int64_t{has_few ? 3 : 7});
  if (!is_within) return;
  draft.add_value(-1.5);
  draft.add_value(2.0);
}

void draft_quantile(Draft& draft) {
  const bool is_first = draft.is("first_dim"), is_negative = draft.is("negative_dim");
  const bool keeps = draft.is("keepdim"), is_whole = draft.is("all_dims");
  const bool is_lower = draft.is("lower"), is_higher = draft.is("higher");
  const bool is_nearest = draft.is("nearest"), is_midpoint = draft.is("midpoint");
  const bool has_usual_shape = is_first || is_negative || keeps || is_whole || is_lower ||
                               is_higher || is_nearest || is_midpoint || draft.is("last_dim");
  const Dims shape = has_usual_shape ? Dims{4, 6} : draft.shape();
  draft.add(draft.tensor(shape));
  draft.add_value(0.3);
  if (is_whole)
    draft.add_none();
  else
    draft.add_value(is_first || shape.size() < 2 || draft.is("specials") ? std::int64_t{0}
                    : is_negative                                        ? std::int64_t{-2}
                                                                         : std::int64_t{1});
  draft.add_value(keeps);
  if (is_lower) draft.add_value(std::string_view("lower"));
  if (is_higher) draft.add_value(std::string_view("higher"));
  if (is_nearest) draft.add_value(std::string_view("nearest"));
  if (is_midpoint) draft.add_value(std::string_view("midpoint"));
}

}  // namespace

void draft_ordering(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "searchsorted" || name == "bucketize")
    return draft_places(draft, name == "bucketize");
  if (name == "isin") return draft_membership(draft);
  if (name == "bincount") return draft_bincount(draft);
  if (name == "histc") return draft_histogram(draft);
  if (name == "quantile" || name == "nanquantile") return draft_quantile(draft);
  const bool is_one = draft.is("size_one");
  draft.add(draft.tensor(is_one ? Dims{1} : draft.is("same") ? Dims{4, 6} : draft.shape()));
}

}  // namespace bp
