// Samples of recurrent networks.
#include <string_view>
#include <vector>

#include "draft.hpp"

namespace bp {

void draft_recurrence(Draft& draft) {
  const std::string_view name = draft.op().name();
  const bool is_both_deep = draft.is("both_ways_deep");
  const bool is_deep = draft.is("two_layers") || is_both_deep;
  const bool is_both = draft.is("bidirectional") || is_both_deep;
  const bool has_batch_first = draft.is("batch_first"), has_biases = !draft.is("no_biases");
  const bool is_one_step = draft.is("one_step"), is_long = draft.is("several_tiles");
  draft.is("same", "non_contiguous");
  const std::int64_t gates = name == "lstm" ? 4 : name == "gru" ? 3 : 1;
  const std::int64_t steps = is_one_step ? 1 : 2, batch = draft.is("no_batch") ? 0 : 2;
  const std::int64_t size = is_long ? 35 : 2, hidden = is_long ? 17 : 2;
  const std::int64_t layers = is_deep ? 2 : 1, directions = is_both ? 2 : 1;
  draft.add(draft.tensor(has_batch_first ? Dims{batch, steps, size} : Dims{steps, batch, size}));
  const Dims state{layers * directions, batch, hidden};
  if (name == "lstm")
    draft.add(std::vector<Tensor>{draft.between(state, -1, 1), draft.between(state, -1, 1)});
  else
    draft.add(draft.between(state, -1, 1));
  std::vector<Tensor> params;
  for (std::int64_t run = 0; run < layers * directions; ++run) {
    params.push_back(
        draft.between({gates * hidden, run < directions ? size : hidden * directions}, -0.5, 0.5));
    params.push_back(draft.between({gates * hidden, hidden}, -0.5, 0.5));
    for (int i = 0; has_biases && i < 2; ++i)
      params.push_back(draft.between({gates * hidden}, -0.5, 0.5));
  }
  draft.add(params);
  draft.add_value(has_biases);
  draft.add_value(layers);
  draft.add_value(0.0);
  draft.add_value(false);
  draft.add_value(is_both);
  draft.add_value(has_batch_first);
}

}  // namespace bp
