// Samples of rows that fill, add and copy by masks and indices.
#include <algorithm>
#include <string_view>

#include "draft.hpp"

namespace bp {
namespace {

std::int64_t count_of(const Dims& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

Dims shape_of_masked(Draft& draft) {
  return draft.is("same", "row_mask", "column_mask", "wider_mask") ? Dims{4, 6} : draft.shape();
}

void draft_masked(Draft& draft, std::string_view name) {
  const bool is_row = draft.is("row_mask"), is_column = draft.is("column_mask");
  const bool is_wider = draft.is("wider_mask");
  const Dims shape = shape_of_masked(draft);
  draft.add(draft.tensor(shape));
  const Dims mask = is_row ? Dims{6} : is_column ? Dims{4, 1} : is_wider ? Dims{2, 4, 6} : shape;
  draft.add(draft.tensor(mask, boolean));
  if (name == "masked_scatter") draft.add(draft.tensor({count_of(is_wider ? mask : shape) + 1}));
  if (name == "masked_fill")
    draft.dtype() == boolean ? draft.add_value(true) : draft.add_value(std::int64_t{3});
}

void draft_diagonal_fill(Draft& draft) {
  const bool is_wrapped = draft.is("wrapped");
  draft.add(draft.tensor(draft.is("same")                 ? Dims{4, 5}
                         : is_wrapped || draft.is("tall") ? Dims{9, 2}
                         : draft.is("wide")               ? Dims{2, 7}
                         : draft.is("cube")               ? Dims{3, 3, 3}
                                                          : draft.shape()));
  draft.dtype() == boolean ? draft.add_value(true) : draft.add_value(std::int64_t{3});
  if (is_wrapped) draft.add_value(true);
}

void draft_slices(Draft& draft, std::string_view name) {
  const bool is_middle = draft.is("middle_dim"), is_first = draft.is("first_dim");
  const bool is_negative = draft.is("negative_dim"), is_repeated = draft.is("repeated_index");
  const bool is_scaled = draft.is("scaled");
  const bool has_usual_shape =
      is_first || is_negative || is_repeated || is_scaled || draft.is("last_dim");
  Dims shape = is_middle ? Dims{2, 5, 3} : has_usual_shape ? Dims{4, 6} : draft.shape();
  if (draft.is("zero_size")) shape = {3, 5};  // nothing into something
  const std::int64_t dim = is_first || shape.empty() ? 0 : is_negative ? -2 : 1;
  const std::int64_t size = shape.empty() ? 1 : shape[dim < 0 ? shape.size() - 2 : dim];
  const std::int64_t count = draft.is("zero_size") ? 0 : size == 1 ? 1 : is_repeated ? 5 : 3;
  draft.add(draft.tensor(shape));
  draft.add_value(dim);
  draft.add(draft.indices({count}, is_repeated ? 2 : size));
  if (name == "index_fill") {
    draft.dtype() == boolean ? draft.add_value(true) : draft.add_value(std::int64_t{3});
    return;
  }
  Dims source = shape;
  if (!source.empty()) source[dim < 0 ? shape.size() - 2 : dim] = count;
  draft.add(draft.tensor(source));
  if (is_scaled) draft.add_value(std::int64_t{-2});
}

void draft_put(Draft& draft) {
  const bool is_sum = draft.is("summed"), is_repeated = draft.is("repeated_index");
  const Dims shape = is_sum || is_repeated || draft.is("same") ? Dims{4, 6} : draft.shape();
  const std::int64_t count = count_of(shape);
  draft.add(draft.tensor(shape));
  const std::int64_t places = std::min<std::int64_t>(count, 5);
  draft.add(draft.indices({places}, is_repeated ? 2 : std::max<std::int64_t>(count, 1)));
  draft.add(draft.tensor({places}));
  if (is_sum) draft.add_value(true);
}

}  // namespace

void draft_filling(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name.starts_with("masked")) return draft_masked(draft, name);
  if (name == "fill_diagonal") return draft_diagonal_fill(draft);
  if (name == "put") return draft_put(draft);
  draft_slices(draft, name);
}

}  // namespace bp
