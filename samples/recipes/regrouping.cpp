// Samples of rows that move margins and blocks, and of sequences of several lengths.
#include <string_view>

#include <backplane/core_ops/generated/factory.hpp>
#include <backplane/core_ops/generated/pointwise.hpp>

#include "draft.hpp"

namespace bp {
namespace {

void draft_middle(Draft& draft) {
  const bool is_cut = draft.is("cut"), is_padded = draft.is("padded"), is_odd = draft.is("odd");
  const bool is_one = draft.is("one_dim"), is_negative = draft.is("negative_dim");
  const bool is_none = draft.is("nothing_left");
  const bool has_usual_shape =
      is_cut || is_padded || is_odd || is_one || is_negative || is_none || draft.is("same");
  const Dims shape = has_usual_shape ? Dims{4, 7} : draft.shape();
  draft.add(draft.tensor(shape));
  if (is_one || is_negative) {
    draft.add_list({is_one ? 3 : 9});
    return draft.add_list({is_one ? 1 : -2});
  }
  draft.add_list(is_cut      ? IntList{2, 3}
                 : is_padded ? IntList{8, 9}
                 : is_odd    ? IntList{1, 10}
                 : is_none   ? IntList{0, 7}
                             : IntList{6, 5});
}

void draft_blocks(Draft& draft, bool is_back) {
  const bool is_by_columns = !is_back && draft.is("by_columns");
  const bool is_one = draft.is("one"), is_image = draft.is("images");
  draft.is("same", "non_contiguous", "transposed", "channels_last");
  const std::int64_t b = is_one ? 1 : is_image ? 3 : 2;
  const std::int64_t channels = draft.is("several_tiles") ? 12 : draft.is("zero_size") ? 0 : 2;
  const std::int64_t rows = draft.is("several_tiles") ? 18 : 3, columns = 2;
  draft.add(draft.tensor(is_back ? Dims{2, channels, rows * b, columns * b}
                                 : Dims{2, channels * b * b, rows, columns}));
  draft.add_value(b);
  if (is_by_columns) draft.add_value(std::string_view("CRD"));
}

void draft_reversal(Draft& draft) {
  const bool is_batch_first = draft.is("batch_first"), is_deep = draft.is("deeper");
  const bool has_none = draft.is("no_length");
  draft.is("same", "non_contiguous", "transposed");
  const Dims shape = is_deep                     ? Dims{4, 3, 2}
                     : draft.is("zero_size")     ? Dims{4, 0}
                     : draft.is("several_tiles") ? Dims{103, 17}
                                                 : Dims{5, 6};
  const std::size_t time = is_batch_first ? 1 : 0;
  draft.add(draft.tensor(shape));
  const Dims batch{shape[1 - time]};
  draft.add(has_none ? full(batch, 0, i64, draft.device()) : draft.indices(batch, shape[time] + 1));
  draft.add_value(static_cast<std::int64_t>(1 - time));
  draft.add_value(static_cast<std::int64_t>(time));
}

// Numbers that fall, one after the other, to the number of them that is left.
Tensor falling(const Draft& draft, std::int64_t from, std::int64_t count) {
  return arange(from, from - count, -1, i64, draft.device());
}

void draft_sequences(Draft& draft, bool is_back) {
  const bool is_equal = draft.is("equal_lengths"), is_short = draft.is("one_step");
  const bool is_alone = draft.is("one_sequence"), is_long = draft.is("several_tiles");
  const bool is_batch_first = draft.is("batch_first");
  const bool has_value = is_back && draft.is("with_value"),
             is_longer = is_back && draft.is("longer");
  draft.is("same", "non_contiguous", "transposed");
  const std::int64_t count = is_alone ? 1 : is_long ? 9 : 3;  // of sequences, or of steps
  const std::int64_t most = is_short ? 1 : is_long ? 31 : 5;
  const bool are_alike = is_equal || is_short;
  const Tensor sizes =
      are_alike ? full({count}, most, i64, draft.device()) : falling(draft, most, count);
  if (is_back) {
    const std::int64_t total = are_alike ? most * count : most * count - count * (count - 1) / 2;
    draft.add(draft.tensor({total, 2}));
  } else {
    draft.add(draft.tensor(is_batch_first ? Dims{count, most + 1, 2} : Dims{most + 1, count, 2}));
  }
  draft.add(sizes);
  draft.add_value(is_batch_first);
  if (!has_value && !is_longer) return;
  draft.add_value(has_value ? 1.0 : 0.0);
  if (is_longer) draft.add_value(count + 2);
}

}  // namespace

void draft_regrouping(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "center_crop_pad") return draft_middle(draft);
  if (name == "reverse_sequence") return draft_reversal(draft);
  if (name.starts_with("pa")) return draft_sequences(draft, name == "pad_packed_sequence");
  draft_blocks(draft, name == "space_to_depth");
}

}  // namespace bp
