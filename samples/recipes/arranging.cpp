// Samples of rows that move dimensions, repeat, and lay out along diagonals.
#include <string_view>

#include "draft.hpp"

namespace bp {
namespace {

void draft_moved(Draft& draft) {
  const bool has_two = draft.is("two_dims"), is_negative = draft.is("negative_dim");
  const bool has_none = draft.is("no_dims");
  const Dims shape =
      has_two || is_negative || has_none || draft.is("same") ? Dims{2, 3, 4} : draft.shape();
  draft.add(draft.tensor(shape));
  if (has_none) {
    draft.add_list({});
    return draft.add_list({});
  }
  draft.add_list(has_two ? IntList{0, 1} : IntList{is_negative ? -1 : 0});
  draft.add_list(has_two ? IntList{2, 0} : IntList{is_negative ? 0 : 1});
}

void draft_split(Draft& draft) {
  const bool is_last = draft.is("last_dim"), is_negative = draft.is("negative_dim");
  const bool is_found = draft.is("found_size");
  const bool has_usual_shape = is_last || is_negative || is_found || draft.is("same");
  const Dims shape = has_usual_shape ? Dims{6, 4} : draft.shape();
  draft.add(draft.tensor(shape));
  draft.add_value(is_last ? std::int64_t{1} : is_negative ? std::int64_t{-2} : std::int64_t{0});
  if (has_usual_shape)
    return draft.add_list(is_last ? IntList{2, 2} : is_found ? IntList{2, -1} : IntList{2, 3});
  draft.add_list({1, shape[0], 1});
}

void draft_tile(Draft& draft) {
  const bool has_fewer = draft.is("fewer_dims"), has_more = draft.is("more_dims");
  const bool is_never = draft.is("never");
  const Dims shape =
      has_fewer || has_more || is_never || draft.is("same") ? Dims{3, 5} : draft.shape();
  draft.add(draft.tensor(shape));
  draft.add_list(has_fewer  ? IntList{3}
                 : has_more ? IntList{2, 1, 3}
                 : is_never ? IntList{2, 0}
                            : IntList{2, 3});
}

void draft_each(Draft& draft, bool is_by_tensor) {
  const bool is_first = draft.is("first_dim"), is_negative = draft.is("negative_dim");
  const bool is_once = !is_by_tensor && draft.is("once");
  const bool is_never = !is_by_tensor && draft.is("never");
  const bool is_one = is_by_tensor && draft.is("one_number");
  const bool has_usual_shape =
      is_first || is_negative || is_once || is_never || is_one || draft.is("same");
  const Dims shape = has_usual_shape ? Dims{4, 6} : draft.shape();
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  draft.add(draft.tensor(shape));
  const bool has_dim = is_first || is_negative || is_never || draft.is("several_tiles");
  if (is_by_tensor)
    draft.add(draft.indices({is_one ? 1 : has_dim ? shape[is_negative ? 1 : 0] : count}, 3));
  else
    draft.add_value(is_once ? std::int64_t{1} : is_never ? std::int64_t{0} : std::int64_t{3});
  if (has_dim) draft.add_value(is_negative ? std::int64_t{-1} : std::int64_t{0});
}

void draft_diag(Draft& draft, bool is_embed) {
  const bool is_above = draft.is("above"), is_below = draft.is("below");
  const bool is_elsewhere = is_embed && draft.is("other_dims");
  const bool has_usual_shape = is_above || is_below || is_elsewhere || draft.is("same");
  const bool is_long = draft.is("several_tiles");
  draft.add(draft.tensor(draft.is("vector")    ? Dims{5}
                         : is_long && is_embed ? Dims{3, 67}
                         : has_usual_shape     ? Dims{4, 5}
                                               : draft.shape()));
  draft.add_value(is_above ? std::int64_t{1} : is_below ? std::int64_t{-2} : std::int64_t{0});
  if (!is_elsewhere) return;
  draft.add_value(std::int64_t{0});
  draft.add_value(std::int64_t{-2});
}

void draft_turn(Draft& draft) {
  const bool is_twice = draft.is("twice"), is_thrice = draft.is("thrice");
  const bool is_never = draft.is("never"), is_other = draft.is("other_plane");
  const bool has_usual_shape = is_twice || is_thrice || is_never || is_other || draft.is("same");
  draft.add(draft.tensor(has_usual_shape ? Dims{2, 3, 4} : draft.shape()));
  draft.add_value(is_twice    ? std::int64_t{2}
                  : is_thrice ? std::int64_t{-1}
                  : is_never  ? std::int64_t{4}
                              : std::int64_t{1});
  draft.add_list(is_other ? IntList{-1, 0} : IntList{0, 1});
}

void draft_pixels(Draft& draft, bool is_back) {
  const bool is_one = draft.is("factor_one"), is_batched = draft.is("batched");
  const std::int64_t factor = is_one ? 1 : 2;
  draft.is("same", "non_contiguous", "transposed", "channels_last");
  const std::int64_t channels = draft.is("several_tiles") ? 12 : draft.is("zero_size") ? 0 : 2;
  const std::int64_t rows = draft.is("several_tiles") ? 18 : 3, columns = 2;
  Dims shape = is_back ? Dims{channels, rows * factor, columns * factor}
                       : Dims{channels * factor * factor, rows, columns};
  if (is_batched) shape = {2, 3, shape[0], shape[1], shape[2]};
  if (draft.is("channels_last")) shape = {2, shape[0], shape[1], shape[2]};
  draft.add(draft.tensor(shape));
  draft.add_value(factor);
}

}  // namespace

void draft_arranging(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "movedim") return draft_moved(draft);
  if (name == "unflatten") return draft_split(draft);
  if (name == "tile") return draft_tile(draft);
  if (name.starts_with("repeat_interleave")) return draft_each(draft, name.ends_with("by"));
  if (name.starts_with("diag")) return draft_diag(draft, name == "diag_embed");
  if (name == "rot90") return draft_turn(draft);
  draft_pixels(draft, name == "pixel_unshuffle");
}

}  // namespace bp
