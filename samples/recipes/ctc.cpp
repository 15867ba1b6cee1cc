// Samples of losses of sequences.
#include <string_view>
#include <vector>

#include "draft.hpp"

namespace bp {
namespace {

// What is not in a tensor of the sample's dtype: whole numbers that have to fit together.
struct SequencesDraft {
  std::int64_t steps = 6, batch = 2, classes = 4, labels = 2;
  std::vector<std::int64_t> input_lengths, target_lengths;
  std::int64_t blank = 0;
};

SequencesDraft sequences_of(Draft& draft) {
  SequencesDraft all;
  if (draft.is("several_tiles")) all = {17, 5, 19, 6, {}, {}, 0};
  if (draft.is("zero_size")) all.batch = 0;
  if (draft.is("no_batch")) all.batch = 1;
  if (draft.is("no_labels")) all.labels = 0;
  if (draft.is("repeated")) all = {7, 2, 3, 3, {}, {}, 0};
  if (draft.is("other_blank")) all.blank = all.classes - 1;
  if (draft.is("does_not_fit")) all = {3, 2, 4, 4, {}, {}, 0};
  const bool has_short = draft.is("short_steps");
  for (std::int64_t i = 0; i < all.batch; ++i) {
    all.input_lengths.push_back(has_short ? (i == 0 ? 4 : 0) : all.steps - i);
    all.target_lengths.push_back(draft.is("several_tiles") || i == 0 ? all.labels
                                 : has_short                         ? 0
                                                                     : all.labels / 2);
  }
  return all;
}

// Labels that are not the blank.
Tensor labels_of(Draft& draft, const SequencesDraft& all, bool in_a_row) {
  std::int64_t count = all.batch * all.labels;
  if (in_a_row) {
    count = 0;
    for (std::int64_t length : all.target_lengths) count += length;
  }
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t label = draft.is("repeated") ? 1 : i * 7 % (all.classes - 1);
    numbers.push_back(label + (label >= all.blank && !draft.is("repeated")));
  }
  const bool is_vector = in_a_row || draft.is("no_batch");
  return draft.numbers(is_vector ? Dims{count} : Dims{all.batch, all.labels}, numbers);
}

}  // namespace

void draft_ctc(Draft& draft) {
  const bool is_backward = std::string_view(draft.op().name()) == "ctc_loss_backward";
  const bool is_each = draft.is("each", "no_batch"), is_summed = draft.is("summed");
  const bool is_one = draft.is("no_batch"), is_row = draft.is("in_a_row");
  draft.is("same", "non_contiguous", "transposed");
  const SequencesDraft all = sequences_of(draft);
  if (is_backward) draft.add(draft.tensor(is_each && !is_one ? Dims{all.batch} : Dims{}));
  draft.add(draft.tensor(is_one ? Dims{all.steps, all.classes}
                                : Dims{all.steps, all.batch, all.classes}));
  draft.add(labels_of(draft, all, is_row));
  const Dims lengths = is_one ? Dims{} : Dims{all.batch};
  draft.add(draft.numbers(lengths, all.input_lengths));
  draft.add(draft.numbers(lengths, all.target_lengths));
  draft.add_value(all.blank);
  draft.add_value(std::string_view(is_each ? "none" : is_summed ? "sum" : "mean"));
  draft.add_value(draft.is("does_not_fit"));
}

}  // namespace bp
