// Samples of contractions, and of products of all pairs.
#include <string_view>

#include "draft.hpp"

namespace bp {
namespace {

void draft_vectors(Draft& draft, bool is_cross) {
  const bool is_first = draft.is("first_dim"), is_negative = draft.is("negative_dim");
  const bool is_row = draft.is("row"), is_vector = draft.is("vector");
  draft.is("same", "non_contiguous", "transposed", "expanded");
  const std::int64_t many = draft.is("several_tiles") ? 1031 : draft.is("zero_size") ? 0 : 4;
  const std::int64_t length = is_cross ? 3 : 5;
  const Dims shape = is_vector                 ? Dims{length}
                     : is_first || is_negative ? Dims{length, many}
                                               : Dims{many, length};
  draft.add(draft.tensor(shape));
  draft.add(draft.tensor(is_row ? Dims{1, length} : shape));
  draft.add_value(is_first ? std::int64_t{0} : is_negative ? std::int64_t{-2} : std::int64_t{-1});
}

// Two tensors, of which the last sizes fit.
struct Shapes {
  Dims left, right;
};
Shapes shapes_of(Draft& draft) {
  draft.is("same", "non_contiguous", "transposed", "expanded");
  if (draft.is("vector")) return {{5}, {5}};
  if (draft.is("more_dims")) return {{2, 3, 5}, {4, 5}};
  if (draft.is("zero_dim")) return {{}, {3, 5}};
  if (draft.is("zero_size")) return {{3, 0}, {4, 0}};
  if (draft.is("several_tiles")) return {{37, 129}, {35, 129}};
  return {{3, 5}, {4, 5}};
}

void draft_contracted(Draft& draft) {
  const bool has_two = draft.is("two_dims"), has_none = draft.is("no_dims");
  const bool has_all = draft.is("all_dims");
  draft.is("same", "non_contiguous", "transposed", "expanded");
  const std::int64_t size = draft.is("several_tiles") ? 131 : draft.is("zero_size") ? 0 : 4;
  draft.add(draft.tensor(has_two || has_all ? Dims{3, 4, 2} : Dims{3, size}));
  draft.add(draft.tensor(has_two ? Dims{4, 5, 3} : has_all ? Dims{2, 3, 4} : Dims{size, 5}));
  draft.add_list(has_two    ? IntList{0, 1}
                 : has_all  ? IntList{0, 1, 2}
                 : has_none ? IntList{}
                            : IntList{-1});
  draft.add_list(has_two    ? IntList{2, 0}
                 : has_all  ? IntList{1, 2, 0}
                 : has_none ? IntList{}
                            : IntList{0});
}

void draft_added_outer(Draft& draft) {
  const bool is_scaled = draft.is("scaled"), is_bare = draft.is("without_addend");
  draft.is("same", "non_contiguous", "expanded", "offset");
  const std::int64_t rows = draft.is("zero_size")       ? 0
                            : draft.is("size_one")      ? 1
                            : draft.is("several_tiles") ? 129
                                                        : 4;
  const std::int64_t columns = draft.is("several_tiles") ? 65 : 3;
  draft.add(draft.tensor({rows, columns}));
  draft.add(draft.tensor({rows}));
  draft.add(draft.tensor({columns}));
  if (is_bare) draft.add_value(std::int64_t{0});
  if (!is_scaled) return;
  draft.add_value(std::int64_t{3});
  draft.add_value(std::int64_t{-2});
}

void draft_bilinear(Draft& draft) {
  const bool has_bias = draft.is("with_bias"), is_vector = draft.is("vector");
  draft.is("same", "non_contiguous", "transposed");
  const bool is_large = draft.is("several_tiles"), has_more = draft.is("more_dims");
  const std::int64_t rows = draft.is("zero_size") ? 0 : is_large ? 67 : 4;
  const std::int64_t left = is_large ? 33 : 3, right = 5, out = 2;
  const auto input = [&](std::int64_t size) {
    return is_vector ? Dims{size} : has_more ? Dims{2, rows, size} : Dims{rows, size};
  };
  draft.add(draft.tensor(input(left)));
  draft.add(draft.tensor(input(right)));
  draft.add(draft.tensor({out, left, right}));
  if (has_bias) draft.add(draft.tensor({out}));
}

}  // namespace

void draft_contraction(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "vecdot" || name == "cross") return draft_vectors(draft, name == "cross");
  if (name == "tensordot") return draft_contracted(draft);
  if (name == "addr") return draft_added_outer(draft);
  if (name == "bilinear") return draft_bilinear(draft);
  if (name == "trace") {
    const bool is_wide = draft.is("wide"), is_tall = draft.is("tall");
    draft.add(draft.tensor(is_wide ? Dims{3, 6} : is_tall ? Dims{7, 2} : draft.shape()));
    return;
  }
  const bool is_kron = name == "kron";
  Shapes shapes = shapes_of(draft);
  if (is_kron && draft.is("several_tiles")) shapes = {{7, 9}, {5, 31}};
  draft.add(draft.tensor(shapes.left));
  draft.add(draft.tensor(shapes.right));
}

}  // namespace bp
