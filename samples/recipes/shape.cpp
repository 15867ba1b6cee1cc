// Samples of rows that rearrange elements: stacked, padded, repeated, flipped.
#include "draft.hpp"

namespace bp {
namespace {

void draft_stack(Draft& draft) {
  const bool has_usual_shape = draft.is("first_dim", "last_dim", "negative_dim", "one_tensor");
  const bool is_promoted = draft.is("promoted");
  const Dims shape = has_usual_shape || is_promoted ? Dims{3, 5} : draft.shape();
  std::vector<Tensor> tensors{is_promoted ? draft.tensor(shape, i16) : draft.tensor(shape)};
  if (!draft.is("one_tensor"))
    tensors.push_back(is_promoted ? draft.tensor(shape, i32) : draft.tensor(shape));
  draft.add(tensors);
  draft.add_value(draft.is("negative_dim")             ? std::int64_t{-2}
                  : draft.is("last_dim", "transposed") ? std::int64_t{2}
                                                       : std::int64_t{0});
}

void draft_constant_pad(Draft& draft) {
  const bool is_cropped = draft.is("cropped"), is_all_cropped = draft.is("all_cropped");
  const bool has_two = draft.is("two_dims", "transposed", "channels_last", "several_tiles");
  const bool is_first = draft.is("first_dim"), is_unpadded = draft.is("no_dims");
  const bool has_value = draft.is("with_value");
  const bool has_usual_shape = is_cropped || is_all_cropped || is_first || is_unpadded ||
                               has_value || draft.is("last_dim", "two_dims");
  const Dims shape = has_usual_shape ? Dims{3, 5} : draft.shape();
  draft.add(draft.tensor(shape));
  if (is_unpadded || shape.empty()) return draft.add_list({});
  draft.add_list(is_cropped       ? IntList{-2, 1, 1, -1}
                 : is_all_cropped ? IntList{-5, 4}
                 : is_first       ? IntList{0, 0, 2, 1}
                 : has_two        ? IntList{1, 2, 2, 0}
                                  : IntList{2, 1});
  if (!has_value) return;
  draft.dtype() == boolean ? draft.add_value(true) : draft.add_value(std::int64_t{3});
}

std::string_view pad_mode(Draft& draft) {
  if (draft.is("reflect", "reflect_cropped")) return "reflect";
  if (draft.is("replicate", "replicate_cropped", "several_tiles")) return "replicate";
  if (draft.is("circular", "circular_cropped", "transposed")) return "circular";
  return "constant";
}

void draft_pad(Draft& draft) {
  const std::string_view mode = pad_mode(draft);
  const bool is_cropped =
      draft.is("cropped", "reflect_cropped", "replicate_cropped", "circular_cropped");
  const bool has_usual_shape = is_cropped || draft.is("reflect", "replicate", "circular");
  const Dims shape = has_usual_shape ? Dims{3, 5} : draft.shape();
  draft.add(draft.tensor(shape));
  if (shape.empty()) return draft.add_list({});
  draft.add_list(is_cropped ? IntList{-1, 3, 2, -1} : IntList{2, 1});
  draft.add_value(mode);
}

void draft_repeat(Draft& draft) {
  const bool is_once = draft.is("once"), has_more = draft.is("more_dims");
  const bool is_never = draft.is("never");
  const Dims shape = is_once || has_more || is_never ? Dims{3, 5} : draft.shape();
  draft.add(draft.tensor(shape));
  if (shape.empty()) return draft.add_list({3});
  draft.add_list(is_once    ? IntList{1, 1}
                 : has_more ? IntList{2, 1, 3}
                 : is_never ? IntList{2, 0}
                            : IntList{2, 3});
}

// The dimensions of flip and roll.
std::vector<std::int64_t> turned_dims(Draft& draft) {
  if (draft.is("no_dims")) return {};
  if (draft.is("two_dims")) return {0, 2};
  if (draft.is("first_dim", "zero_dim")) return {0};
  return {-1};
}

void draft_turned(Draft& draft, bool is_roll) {
  const bool is_full = draft.is("full_turns");
  const bool has_usual_shape =
      is_full || draft.is("first_dim", "negative_dim", "two_dims", "no_dims");
  draft.add(draft.tensor(has_usual_shape ? Dims{3, 5, 2} : draft.shape()));
  const std::vector<std::int64_t> dims = turned_dims(draft);
  if (is_roll && dims.size() == 2)
    draft.add_list({-1, 3});
  else if (is_roll)
    draft.add_list({is_full ? -4 : draft.is("no_dims") ? 7 : 2});
  draft.add_list(dims);
}

void draft_parts(Draft& draft, std::string_view name) {
  const bool is_last = draft.is("last_dim"), is_negative = draft.is("negative_dim");
  const bool is_uneven = draft.is("uneven");
  const bool has_usual_shape = is_last || is_negative || is_uneven || draft.is("first_dim");
  draft.add(draft.tensor(has_usual_shape ? Dims{7, 4} : draft.shape()));
  if (name == "tensor_split_at")
    draft.add_list(is_uneven ? IntList{4, 2, -1} : IntList{1, 3});
  else
    draft.add_value(is_uneven ? std::int64_t{4} : std::int64_t{3});
  draft.add_value(is_last ? std::int64_t{1} : is_negative ? std::int64_t{-2} : std::int64_t{0});
}

void draft_meshgrid(Draft& draft) {
  const bool is_tiled = draft.is("several_tiles"), has_three = draft.is("three_tensors");
  const bool is_columns_first = draft.is("columns_first");
  draft.is("same", "non_contiguous");
  std::vector<Tensor> vectors{draft.tensor({is_tiled ? 70 : draft.is("zero_size") ? 0 : 3})};
  if (draft.is("zero_dim"))
    vectors.push_back(draft.tensor({}));
  else if (!draft.is("one_tensor"))
    vectors.push_back(draft.tensor({is_tiled ? 103 : 5}));
  if (has_three) vectors.push_back(draft.tensor({2}));
  draft.add(vectors);
  if (is_columns_first) draft.add_value(std::string_view("xy"));
}

void draft_broadcast_tensors(Draft& draft) {
  const bool is_row = draft.is("row"), is_column = draft.is("column");
  const bool is_one = draft.is("one_tensor");
  const Dims shape = is_row || is_column || is_one ? Dims{3, 5} : draft.shape();
  std::vector<Tensor> tensors{draft.tensor(shape)};
  if (!is_one) tensors.push_back(draft.tensor(is_row ? Dims{5} : is_column ? Dims{3, 1} : shape));
  if (is_row || is_column) tensors.push_back(draft.tensor(Dims{1, 1}));
  draft.add(tensors);
}

void draft_triangle(Draft& draft) {
  const bool is_wide = draft.is("wide"), is_above = draft.is("above"), is_below = draft.is("below");
  draft.add(draft.tensor(is_wide                ? Dims{2, 3, 6}
                         : is_above || is_below ? Dims{4, 5}
                                                : draft.shape()));
  draft.add_value(is_above ? std::int64_t{1} : is_below ? std::int64_t{-2} : std::int64_t{0});
}

}  // namespace

void draft_shape(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "stack") return draft_stack(draft);
  if (name == "constant_pad_nd") return draft_constant_pad(draft);
  if (name == "pad") return draft_pad(draft);
  if (name == "repeat") return draft_repeat(draft);
  if (name == "meshgrid") return draft_meshgrid(draft);
  if (name == "broadcast_tensors") return draft_broadcast_tensors(draft);
  if (name == "chunk" || name.starts_with("tensor_split")) return draft_parts(draft, name);
  if (name == "flip" || name == "roll") return draft_turned(draft, name == "roll");
  draft_triangle(draft);
}

}  // namespace bp
