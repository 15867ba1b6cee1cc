// Samples of rows that write by index, look up, and take the largest.
#include <backplane/tensor/views.hpp>

#include "draft.hpp"

namespace bp {
namespace {

void draft_scatter(Draft& draft) {
  const bool is_smaller = draft.is("smaller_index"), is_longer = draft.is("longer_index");
  const bool has_larger_source = draft.is("larger_source"),
             is_repeated = draft.is("repeated_index");
  const bool is_one_number = draft.is("one_number"), is_first = draft.is("first_dim");
  const bool is_last = draft.is("last_dim"), is_negative = draft.is("negative_dim");
  const bool has_usual_shape = is_smaller || is_longer || has_larger_source || is_repeated ||
                               is_one_number || is_first || is_last || is_negative;
  Dims shape = has_usual_shape ? Dims{4, 6} : draft.shape();
  if (draft.is("zero_size")) shape = {3, 5};  // nothing into something
  const std::int64_t dim = is_first || is_longer || shape.empty() ? 0 : is_negative ? -1 : 1;
  draft.add(draft.tensor(shape));
  draft.add_value(dim);
  Dims index_shape = shape;
  if (is_smaller || has_larger_source) index_shape = {2, 3};
  if (is_longer) index_shape = {9, 6};
  if (draft.is("zero_size")) index_shape = {0, 5};
  const std::int64_t along = shape.empty() ? 1 : shape[dim == 0 ? 0 : 1];
  draft.add(draft.indices(index_shape, is_repeated ? 2 : along));
  if (is_one_number) return draft.add(views::expand(draft.tensor({1, 1}), index_shape));
  draft.add(draft.tensor(has_larger_source ? Dims{3, 5} : index_shape));
}

struct Indexed {
  Dims a;
  std::vector<Tensor> indices;  // undefined ones for holes
  Dims values;
};

Indexed indexed_for(Draft& draft) {
  const Tensor hole;
  if (draft.is("hole")) return {{6, 4}, {hole, draft.indices({3}, 4)}, {6, 3}};
  if (draft.is("only_holes")) return {{6, 4}, {hole}, {6, 4}};
  if (draft.is("separated", "accumulate_separated"))
    return {{3, 4, 5}, {draft.indices({2}, 3), hole, draft.indices({2}, 5)}, {2, 4}};
  if (draft.is("adjacent"))
    return {{3, 4, 5}, {hole, draft.indices({2, 3}, 4), draft.indices({3}, 5)}, {3, 2, 3}};
  if (draft.is("mask_and_hole")) return {{6, 4}, {hole, draft.choices(4)}, {6, 1}};
  if (draft.is("vector", "accumulate")) return {{6, 4}, {draft.indices({3}, 6)}, {3, 4}};
  if (draft.is("matrix")) return {{6, 4}, {draft.indices({2, 3}, 6)}, {2, 3, 4}};
  if (draft.is("all_dims")) return {{6, 4}, {draft.indices({5}, 6), draft.indices({5}, 4)}, {5}};
  if (draft.is("broadcast_indices"))
    return {{6, 4}, {draft.indices({3, 1}, 6), draft.indices({2}, 4)}, {3, 2}};
  if (draft.is("broadcast_values")) return {{6, 4}, {draft.indices({3}, 6)}, {}};
  // How many places a mask names is not known here.
  if (draft.is("masked")) return {{6, 4}, {draft.choices(6)}, {1, 4}};
  if (draft.is("repeated_index")) return {{6, 4}, {draft.indices({8}, 2)}, {8, 4}};
  if (draft.is("several_tiles")) return {{70, 1031}, {draft.indices({41}, 70)}, {41, 1031}};
  if (draft.is("zero_size")) return {{6, 4}, {draft.indices({0}, 6)}, {0, 4}};
  if (draft.is("negative"))
    return {{6, 4}, {views::narrow(draft.specials(i64), 0, 2, 1)}, {1, 4}};  // -1
  return {{6, 4}, {draft.indices({3}, 6)}, {3, 4}};
}

void draft_index(Draft& draft) {
  const Indexed parts = indexed_for(draft);
  draft.add(draft.tensor(parts.a));
  draft.add(parts.indices);
  if (std::string_view(draft.op().name()) == "index") return;
  draft.add(draft.tensor(parts.values));
  if (draft.is("accumulate", "accumulate_separated")) draft.add_value(true);
}

void draft_embedding(Draft& draft) {
  const bool is_repeated = draft.is("repeated_index"), is_vector = draft.is("vector");
  const bool has_padding = draft.is("with_padding"), has_no_columns = draft.is("no_columns");
  const bool has_usual_shape = is_repeated || is_vector || has_padding || draft.is("matrix");
  const Dims shape = draft.is("several_tiles")                  ? Dims{7, 1031}
                     : draft.is("non_contiguous", "transposed") ? draft.shape()
                                                                : Dims{6, has_no_columns ? 0 : 4};
  draft.add(draft.tensor(shape));
  const Dims index_shape = draft.is("zero_size")                    ? Dims{0, 2}
                           : draft.is("zero_dim")                   ? Dims{}
                           : has_usual_shape && !draft.is("matrix") ? Dims{5}
                                                                    : Dims{2, 3};
  draft.add(draft.indices(index_shape, is_repeated ? 2 : has_padding ? 3 : shape[0]));
  if (has_padding) draft.add_value(std::int64_t{1});
}

void draft_topk(Draft& draft) {
  const bool is_middle = draft.is("middle_dim"), is_first = draft.is("first_dim");
  const bool is_negative = draft.is("negative_dim"), has_none = draft.is("none");
  const bool has_all = draft.is("all_of_them"), is_smallest = draft.is("smallest");
  const bool is_repeated = draft.is("repeated_values"), is_special = draft.is("specials");
  const bool has_usual_shape = is_first || is_negative || has_none || has_all || is_smallest ||
                               is_repeated || draft.is("last_dim");
  const Dims shape = is_middle ? Dims{2, 6, 4} : has_usual_shape ? Dims{4, 6} : draft.shape();
  if (is_repeated)
    draft.add(views::expand(draft.tensor({4, 1}), shape));
  else
    draft.add(draft.tensor(shape));
  const std::int64_t k = has_none ? 0 : has_all ? 6 : shape.empty() || is_special ? 1 : 3;
  draft.add_value(is_special ? std::int64_t{4} : k);
  draft.add_value(is_first || is_special ? std::int64_t{0}
                  : is_middle            ? std::int64_t{1}
                  : is_negative          ? std::int64_t{-2}
                                         : std::int64_t{-1});
  if (is_smallest) draft.add_value(false);
}

}  // namespace

void draft_selection(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "scatter") return draft_scatter(draft);
  if (name == "index" || name == "index_put") return draft_index(draft);
  if (name == "embedding") return draft_embedding(draft);
  draft_topk(draft);
}

}  // namespace bp
