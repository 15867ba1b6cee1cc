// Samples of distances, of losses of them, and of gates.
#include <limits>
#include <string_view>

#include "draft.hpp"

namespace bp {
namespace {

void add_exponent(Draft& draft) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  draft.add_value(draft.is("count")      ? 0.0
                  : draft.is("absolute") ? 1.0
                  : draft.is("cubic")    ? 3.0
                  : draft.is("largest")  ? infinity
                                         : 2.0);
}

void draft_pairs(Draft& draft, bool is_of_pairs) {
  const bool is_vector = is_of_pairs && draft.is("vector"), is_row = is_of_pairs && draft.is("row");
  const bool is_batched = !is_of_pairs && draft.is("batched");
  const bool keeps = is_of_pairs && draft.is("keepdim");
  draft.is("same", "non_contiguous", "transposed");
  const bool is_long = draft.is("several_tiles");
  const std::int64_t length = !is_of_pairs && draft.is("no_numbers") ? 0 : is_long ? 129 : 5;
  const std::int64_t rows = draft.is("zero_size") ? 0 : is_long ? 9 : 4;
  const Dims shape = is_vector    ? Dims{length}
                     : is_batched ? Dims{2, rows, length}
                                  : Dims{rows, length};
  draft.add(draft.tensor(shape));
  if (is_of_pairs)
    draft.add(draft.tensor(is_row ? Dims{1, length} : shape));
  else if (is_batched)
    draft.add(draft.tensor({2, 3, length}));
  else
    draft.add(draft.tensor({draft.is("no_vectors") ? 0 : is_long ? 7 : 3, length}));
  add_exponent(draft);
  if (!is_of_pairs) return;
  draft.add_value(1e-6);
  draft.add_value(keeps);
}

void draft_lengths(Draft& draft) {
  const bool is_first = draft.is("first_dim"), is_negative = draft.is("negative_dim");
  const bool has_usual_shape =
      is_first || is_negative || draft.is("last_dim", "absolute", "largest");
  const Dims shape = has_usual_shape ? Dims{4, 6} : draft.shape();
  draft.add(draft.tensor(shape));
  add_exponent(draft);
  draft.add_value(is_first ? std::int64_t{0} : is_negative ? std::int64_t{-2} : std::int64_t{1});
}

void draft_gate(Draft& draft) {
  const bool is_first = draft.is("first_dim"), is_negative = draft.is("negative_dim");
  draft.is("same", "non_contiguous", "transposed");
  draft.add(draft.tensor(draft.is("vector")          ? Dims{6}
                         : draft.is("zero_size")     ? Dims{0, 6}
                         : draft.is("several_tiles") ? Dims{4, 134}
                                                     : Dims{4, 6}));
  draft.add_value(is_first ? std::int64_t{0} : is_negative ? std::int64_t{-2} : std::int64_t{-1});
}

void draft_prelu(Draft& draft) {
  const bool is_one = draft.is("one_weight"), has_more = draft.is("more_dims");
  const bool is_vector = draft.is("vector");
  const Dims shape = has_more                     ? Dims{2, 3, 4}
                     : is_vector                  ? Dims{5}
                     : is_one || draft.is("same") ? Dims{4, 6}
                                                  : draft.shape();
  draft.add(draft.tensor(shape));
  draft.add(draft.tensor({is_one || shape.size() < 2 ? 1 : shape[1]}));
}

void draft_odds(Draft& draft) {
  const bool is_bounded = draft.is("bounded");
  const Dims shape = is_bounded || draft.is("same") ? Dims{4, 6}
                     : draft.is("size_one")         ? Dims{1}
                                                    : draft.shape();
  draft.add(draft.between(shape, 0.05, 0.95));
  if (is_bounded) draft.add_value(0.25);
}

// Rows, and their length.
Dims shape_of_embedded(Draft& draft) {
  draft.is("same", "non_contiguous", "transposed", "summed", "each", "narrow", "swapped", "squared",
           "weighted");
  return draft.is("vector") ? Dims{5} : draft.is("several_tiles") ? Dims{9, 129} : Dims{4, 5};
}

void add_kind(Draft& draft) {
  const bool is_sum = draft.is("summed"), is_each = draft.is("each");
  draft.add_value(std::string_view(is_sum ? "sum" : is_each ? "none" : "mean"));
}

void draft_cosine_loss(Draft& draft) {
  const Dims shape = shape_of_embedded(draft);
  draft.add(draft.tensor(shape));
  draft.add(draft.tensor(shape));
  draft.add(draft.sides(shape.size() == 1 ? Dims{} : Dims{shape[0]}));
  draft.add_value(draft.is("narrow") ? 0.25 : 0.0);
  add_kind(draft);
}

void draft_triplet(Draft& draft) {
  const Dims shape = shape_of_embedded(draft);
  for (int i = 0; i < 3; ++i) draft.add(draft.tensor(shape));
  draft.add_value(1.0);
  draft.add_value(2.0);
  draft.add_value(1e-6);
  draft.add_value(draft.is("swapped"));
  add_kind(draft);
}

void draft_margins(Draft& draft) {
  const Dims shape = shape_of_embedded(draft);
  draft.add(draft.tensor(shape));
  const bool is_vector = shape.size() == 1;
  draft.add(draft.indices(is_vector ? Dims{} : Dims{shape[0]}, shape[is_vector ? 0 : 1]));
  draft.add_value(std::int64_t{draft.is("squared") ? 2 : 1});
  draft.add_value(is_vector ? 4.0 : 1.0);
  draft.is("weighted") ? draft.add(draft.between({shape[is_vector ? 0 : 1]}, 0.5, 2))
                       : draft.add_none();
  add_kind(draft);
}

void draft_own_pairs(Draft& draft) {
  const bool is_absolute = draft.is("absolute"), is_largest = draft.is("largest");
  const bool is_cubic = draft.is("cubic"), is_one = draft.is("one_vector");
  const bool has_no_numbers = draft.is("no_numbers");
  const bool has_usual_shape = is_absolute || is_largest || is_cubic || draft.is("same");
  const Dims shape = is_one                      ? Dims{1, 5}
                     : has_no_numbers            ? Dims{4, 0}
                     : draft.is("several_tiles") ? Dims{20, 33}
                     : has_usual_shape           ? Dims{5, 4}
                                                 : draft.shape();
  draft.add(draft.tensor(shape));
  if (is_absolute) draft.add_value(1.0);
  if (is_cubic) draft.add_value(3.0);
  if (is_largest) draft.add_value(std::numeric_limits<double>::infinity());
}

}  // namespace

void draft_distances(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "cdist" || name == "pairwise_distance") return draft_pairs(draft, name != "cdist");
  if (name == "pdist") return draft_own_pairs(draft);
  if (name == "normalize") return draft_lengths(draft);
  if (name == "glu") return draft_gate(draft);
  if (name == "prelu") return draft_prelu(draft);
  if (name == "logit") return draft_odds(draft);
  if (name == "cosine_embedding_loss") return draft_cosine_loss(draft);
  if (name == "triplet_margin_loss") return draft_triplet(draft);
  draft_margins(draft);
}

}  // namespace bp
