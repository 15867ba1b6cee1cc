// Samples of products of vectors, and of similarities along a dimension.
#include <string_view>

#include "draft.hpp"

namespace bp {
namespace {

// The length of the vector, and the number of the matrix's rows.
struct VectorSizes {
  std::int64_t length = 5, rows = 4;
};

VectorSizes vector_sizes(Draft& draft, bool has_matrix) {
  draft.is("same", "non_contiguous", "expanded", "offset", "transposed", "without_addend",
           "scaled");
  if (draft.is("zero_size")) return has_matrix ? VectorSizes{5, 0} : VectorSizes{0, 0};
  if (draft.is("empty_inner")) return {0, 4};
  if (draft.is("size_one")) return {1, 1};
  if (draft.is("several_tiles")) return {129, 65};
  if (draft.is("long")) return {777, 3};
  return {};
}

Dims shape_of_similar(Draft& draft) {
  if (draft.is("middle_dim")) return {2, 3, 4, 5};
  return draft.is("last_dim", "first_dim", "negative_dim") ? Dims{4, 6} : draft.shape();
}

}  // namespace

void draft_product(Draft& draft) {
  const std::string_view name = draft.op().name();
  const bool has_matrix = name == "mv" || name == "addmv";
  const VectorSizes sizes = vector_sizes(draft, has_matrix);
  if (name == "addmv") draft.add(draft.tensor({sizes.rows}));
  if (has_matrix) {
    draft.add(draft.tensor({sizes.rows, sizes.length}));
  } else {
    draft.add(draft.tensor({name == "outer" ? sizes.rows : sizes.length}));
  }
  draft.add(draft.tensor({sizes.length}));
  if (name != "addmv") return;
  if (draft.is("without_addend")) draft.add_value(std::int64_t{0});
  if (draft.is("scaled")) {
    draft.add_value(std::int64_t{3});
    draft.add_value(std::int64_t{-2});
  }
}

void draft_similarity(Draft& draft) {
  const Dims shape = shape_of_similar(draft);
  draft.add(draft.tensor(shape));
  draft.add(draft.tensor(shape));
  draft.add_value(draft.is("first_dim")      ? std::int64_t{0}
                  : draft.is("negative_dim") ? std::int64_t{-2}
                  : draft.is("last_dim")     ? std::int64_t{1}
                                             : static_cast<std::int64_t>(shape.size()) / 2);
}

}  // namespace bp
