// Samples of factorizations, and of what is made of them.
#include <algorithm>
#include <string_view>
#include <vector>

#include "draft.hpp"

namespace bp {
namespace {

// Square, with a batch where the recipe has one.
Dims square_shape(Draft& draft, std::int64_t large) {
  draft.is("same", "upper", "from_right", "upper_from_right", "unit", "vector", "no_pivot");
  draft.is("non_contiguous", "transposed", "none", "once", "high", "inverted", "no_columns");
  if (draft.is("size_one")) return {1, 1};
  if (draft.is("pair")) return {2, 2};
  if (draft.is("batched", "broadcast", "vectors", "one_vector")) return {2, 3, 3};
  if (draft.is("two_batches")) return {2, 1, 3, 3};
  if (draft.is("zero_size")) return {2, 0, 0};
  if (draft.is("no_batch")) return {0, 3, 3};
  if (draft.is("several_tiles")) return {large, large};
  return {3, 3};
}

Dims any_shape(Draft& draft, std::int64_t large) {
  if (draft.is("wide")) return {3, 5};
  if (draft.is("tall")) return {5, 3};
  if (draft.is("batched")) return {2, 4, 3};
  if (draft.is("zero_size")) return {2, 0, 3};
  if (draft.is("no_batch")) return {0, 3, 4};
  if (draft.is("no_columns")) return {3, 0};
  if (draft.is("completed")) return {2, 13, 6};
  if (draft.is("r_alone")) return {4, 3};
  if (draft.is("several_tiles")) return {large + 3, large};
  return square_shape(draft, large);
}

// The other side of a system with `matrix`: as many rows, and two columns.
Dims side_of(Draft& draft, IntList matrix, bool is_right) {
  const std::int64_t size = matrix[matrix.size() - 1], count = draft.is("no_columns") ? 0 : 2;
  Dims shape(matrix);
  shape[shape.size() - (is_right ? 2 : 1)] = count;
  if (draft.is("broadcast")) shape = is_right ? Dims{count, size} : Dims{size, count};
  return shape;
}

void draft_triangular_system(Draft& draft) {
  const bool is_right = draft.is("from_right") | draft.is("upper_from_right");
  const bool is_upper = draft.is("upper") | draft.is("upper_from_right");
  const Dims shape = square_shape(draft, 40);
  draft.add(draft.matrices(shape, Matrices::triangular));
  draft.add(draft.tensor(side_of(draft, shape, is_right)));
  draft.add_value(is_upper);
  draft.add_value(!is_right);
  draft.add_value(draft.is("unit"));
}

void draft_factor_system(Draft& draft) {
  const bool is_upper = draft.is("upper");
  const Dims shape = square_shape(draft, 40);
  draft.add(draft.tensor(side_of(draft, shape, false)));
  draft.add(draft.matrices(shape, Matrices::triangular));
  draft.add_value(is_upper);
}

void draft_system(Draft& draft) {
  const bool is_right = draft.is("from_right");
  const Dims shape = square_shape(draft, 40);
  draft.add(draft.matrices(shape, Matrices::dominant));
  draft.add(draft.tensor(draft.is("vector") || draft.is("one_vector") ? Dims{3}
                         : draft.is("vectors")                        ? Dims{2, 3}
                                               : side_of(draft, shape, is_right)));
  draft.add_value(!is_right);
}

void draft_least_squares(Draft& draft) {
  const bool by_values = draft.is("by_values"), has_cut = draft.is("with_cut");
  const bool is_vector = draft.is("vector"), are_vectors = draft.is("vectors");
  const bool is_batched = draft.is("broadcast");
  const Dims shape = by_values || has_cut        ? Dims{5, 3}
                     : is_vector                 ? Dims{4, 2}
                     : are_vectors || is_batched ? Dims{2, 4, 3}
                                                 : any_shape(draft, 20);
  draft.add(draft.matrices(shape, Matrices::dominant));
  Dims side(IntList(shape.data(), shape.size() - 1));
  if (!is_vector && !are_vectors) side.push_back(draft.is("no_columns") ? 0 : 2);
  if (is_batched) side = {4, 2};
  draft.add(draft.tensor(side));
  if (!by_values && !has_cut) return;
  has_cut ? draft.add_value(0.01) : draft.add_none();
  draft.add_value(std::string_view(has_cut ? "gelsy" : "gelsd"));
}

void draft_unpacked(Draft& draft) {
  const Dims shape = any_shape(draft, 40);
  draft.add(draft.matrices(shape, Matrices::triangular));
  const std::int64_t rows = shape[shape.size() - 2], columns = shape[shape.size() - 1];
  Dims places(IntList(shape.data(), shape.size() - 1));
  places[places.size() - 1] = std::min(rows, columns);
  draft.add(draft.counted(places));
}

void draft_exponential(Draft& draft) {
  const bool is_large = draft.is("large");
  draft.add(draft.matrices(is_large ? Dims{2, 4, 4} : square_shape(draft, 33),
                           is_large ? Matrices::separated : Matrices::triangular));
}

void draft_power(Draft& draft) {
  const std::int64_t n = draft.is("none")       ? 0
                         : draft.is("once")     ? 1
                         : draft.is("high")     ? 5
                         : draft.is("inverted") ? -2
                                                : 3;
  draft.add(draft.matrices(square_shape(draft, 33), Matrices::triangular));
  draft.add_value(n);
}

void draft_of_singular_values(Draft& draft, bool has_cut) {
  const bool is_cut = has_cut && draft.is("cut"), is_symmetric = has_cut && draft.is("symmetric");
  if (is_symmetric)  // of another size one eigenvalue would be next to 0
    draft.add(draft.matrices({2, 10, 10}, Matrices::separated));
  else
    draft.add(draft.matrices(any_shape(draft, 9), Matrices::dominant));
  if (!is_cut && !is_symmetric) return;
  is_cut ? draft.add_value(0.25) : draft.add_none();
  is_cut ? draft.add_value(0.3) : draft.add_none();
  draft.add_value(is_symmetric);
}

void draft_matrix_norm(Draft& draft) {
  const char* const ord = draft.is("nuclear")        ? "nuc"
                          : draft.is("largest")      ? "2"
                          : draft.is("smallest")     ? "-2"
                          : draft.is("by_columns")   ? "1"
                          : draft.is("least_column") ? "-1"
                          : draft.is("by_rows")      ? "inf"
                          : draft.is("least_row")    ? "-inf"
                                                     : "fro";
  const bool has_dims = draft.is("other_dims"), keeps = draft.is("keepdim");
  draft.is("same", "non_contiguous", "transposed");
  const Dims shape = has_dims                    ? Dims{3, 2, 4}
                     : draft.is("batched")       ? Dims{2, 3, 4}
                     : draft.is("several_tiles") ? Dims{40, 41}
                                                 : Dims{3, 4};
  draft.add(draft.matrices(shape, Matrices::dominant));
  draft.add_value(std::string_view(ord));
  has_dims ? draft.add_list({2, 0}) : draft.add_none();
  draft.add_value(keeps);
}

void draft_vander(Draft& draft) {
  const bool is_few = draft.is("few"), is_one = draft.is("one_power");
  draft.is("same", "non_contiguous", "transposed");
  const Dims shape = draft.is("batched")         ? Dims{2, 4}
                     : draft.is("zero_size")     ? Dims{0, 4}
                     : draft.is("several_tiles") ? Dims{70, 17}
                     : draft.is("transposed")    ? Dims{3, 4}
                                                 : Dims{4};
  draft.add(draft.tensor(shape));
  if (is_few || is_one) draft.add_value(std::int64_t{is_one ? 1 : 2});
}

void draft_chain(Draft& draft) {
  const bool has_row = draft.is("row", "row_and_column");
  const bool has_column = draft.is("column", "row_and_column");
  draft.is("same", "non_contiguous", "transposed");
  const bool is_long = draft.is("several_tiles");
  const std::int64_t inner = draft.is("zero_size") ? 0 : is_long ? 37 : 4;
  std::vector<Tensor> factors{draft.tensor(has_row ? Dims{3} : Dims{is_long ? 41 : 2, 3})};
  factors.push_back(draft.tensor({3, draft.is("two") ? 2 : inner}));
  if (draft.is("four")) factors.push_back(draft.tensor({inner, inner}));
  if (!draft.is("two")) factors.push_back(draft.tensor(has_column ? Dims{inner} : Dims{inner, 2}));
  draft.add(factors);
}

}  // namespace

void draft_linear_algebra(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "linalg_solve_triangular") return draft_triangular_system(draft);
  if (name == "cholesky_solve") return draft_factor_system(draft);
  if (name == "linalg_solve") return draft_system(draft);
  if (name == "linalg_lstsq") return draft_least_squares(draft);
  if (name == "lu_unpack") return draft_unpacked(draft);
  if (name == "linalg_matrix_power") return draft_power(draft);
  if (name == "linalg_matrix_exp") return draft_exponential(draft);
  if (name == "linalg_matrix_norm") return draft_matrix_norm(draft);
  if (name == "linalg_vander") return draft_vander(draft);
  if (name == "linalg_multi_dot") return draft_chain(draft);
  if (name == "linalg_pinv" || name == "linalg_matrix_rank")
    return draft_of_singular_values(draft, true);
  if (name == "linalg_svd" || name == "linalg_svdvals") {
    draft_of_singular_values(draft, false);
    if (name == "linalg_svd") draft.add_value(draft.is("completed"));
    return;
  }
  const bool is_upper = draft.is("upper");
  if (name == "linalg_eigh" || name == "linalg_eigvalsh") {
    draft.add(draft.matrices(square_shape(draft, 12), Matrices::separated));
    return draft.add_value(std::string_view(is_upper ? "U" : "L"));
  }
  if (name == "linalg_cholesky" || name == "cholesky_inverse") {
    const bool is_factor = name == "cholesky_inverse";
    draft.add(draft.matrices(square_shape(draft, 40),
                             is_factor ? Matrices::triangular : Matrices::positive));
    return draft.add_value(is_upper);
  }
  if (name == "linalg_eig" || name == "linalg_eigvals") {
    const bool is_turning = draft.is("turning");
    return draft.add(draft.matrices(is_turning ? Dims{2, 5, 5} : square_shape(draft, 12),
                                    is_turning ? Matrices::turning : Matrices::separated));
  }
  const bool is_minor = name == "linalg_det" || name == "linalg_adjugate";
  const bool is_square = name == "linalg_inv" || name == "linalg_slogdet" || is_minor;
  draft.add(
      draft.matrices(is_square ? square_shape(draft, is_minor ? 6 : 40) : any_shape(draft, 40),
                     draft.is("no_pivot") || name == "linalg_adjugate" ? Matrices::triangular
                                                                       : Matrices::dominant));
  if (name == "linalg_lu_factor") draft.add_value(!draft.is("no_pivot"));
  if (name == "linalg_qr")
    draft.add_value(std::string_view(draft.is("completed") ? "complete"
                                     : draft.is("r_alone") ? "r"
                                                           : "reduced"));
}

}  // namespace bp
