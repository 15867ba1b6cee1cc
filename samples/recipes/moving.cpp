// Samples of rows that move elements: by index, copied, joined, viewed.
#include <backplane/tensor/views.hpp>

#include "draft.hpp"

namespace bp {
namespace {

std::int64_t choose_dim(Draft& draft, std::int64_t rank) {
  if (draft.is("first_dim") || rank == 0) return 0;
  if (draft.is("negative_dim")) return -1;
  draft.is("last_dim", "smaller_index", "repeated_index");
  return rank - 1;
}

void draft_one_hot(Draft& draft) {
  Dims shape = draft.is("vector", "inferred_classes", "repeated_index") ? Dims{6}
               : draft.is("matrix")                                     ? Dims{3, 4}
                                                                        : draft.shape();
  Tensor classes = draft.indices(shape, 5);
  if (draft.is("transposed")) classes = views::transpose(draft.indices({5, 3}, 5), 0, 1);
  if (draft.is("non_contiguous")) classes = views::slice(draft.indices({3, 10}, 5), 1, {}, {}, 2);
  draft.add(classes);
  draft.add_value(draft.is("inferred_classes") ? std::int64_t{-1} : std::int64_t{5});
}

// The dtype that a cast sample asks for.
Dtype cast_target(Draft& draft) {
  if (draft.is("to_bool")) return boolean;
  if (draft.is("to_integer")) return i32;
  if (draft.is("to_half")) return f16;
  if (draft.is("to_double")) return f64;
  return draft.dtype() == f32 ? i64 : f32;
}

void draft_cat(Draft& draft) {
  if (draft.is("one_tensor")) return draft.add(std::vector{draft.tensor({3, 5})});
  if (draft.is("empty_among"))
    return draft.add(std::vector{draft.tensor({3, 5}), draft.tensor({0}), draft.tensor({2, 5})});
  if (draft.is("promoted"))
    return draft.add(std::vector{draft.tensor({3, 5}, i16), draft.tensor({2, 5}, i32)});
  if (draft.is("first_dim", "last_dim", "negative_dim"))
    return draft.add(std::vector{draft.tensor({3, 5}), draft.tensor({3, 5})});
  const Dims shape = draft.shape();
  draft.add(std::vector{draft.tensor(shape), draft.tensor(shape)});
}

void draft_window(Draft& draft, std::string_view name) {
  const bool is_first = draft.is("first");
  const std::int64_t dim = draft.is("negative") ? -1 : 1;
  const std::int64_t at = is_first ? 0 : draft.is("last") ? 4 : 2;
  draft.add_value(dim);
  if (name == "select") return draft.add_value(draft.is("negative") ? std::int64_t{-1} : at);
  if (name == "narrow") {
    draft.add_value(at == 4 ? std::int64_t{3} : at);
    return draft.add_value(std::int64_t{2});
  }
  draft.add_value(std::int64_t{3});  // unfold: size and step
  draft.add_value(std::int64_t{1});
}

void draft_cut(Draft& draft, std::string_view name, const Tensor& a) {
  const std::int64_t dim = draft.is("last") ? 1 : draft.is("negative") ? -1 : 0;
  const std::int64_t whole = a.size(dim);
  if (name == "split") draft.add_value(std::int64_t{2});
  if (name == "split_with_sizes") draft.add_list({1, 0, whole - 1});
  draft.add_value(dim);
}

// The arguments behind the tensor, for a tensor of this shape.
void draft_view_arguments(Draft& draft, std::string_view name, const Tensor& a) {
  const std::int64_t rank = a.ndim();
  if (name == "view" || name == "reshape") {
    if (draft.is("inferred_size", "flat")) return draft.add_list({-1});
    if (draft.is("split")) return draft.add_list({3, 5, 1});
    if (rank == 0) return draft.add_list({1, 1});
    if (a.numel() == 0) return draft.add_list({5, 0});
    if (name == "reshape") return draft.add_list({-1});
    return draft.add_list({1, a.shape()[0], a.shape()[1]});
  }
  if (name == "transpose") {
    draft.add_value(std::int64_t{0});
    return draft.add_value(std::int64_t{-1});
  }
  if (name == "permute") return rank == 0 ? draft.add_list({}) : draft.add_list({1, 0});
  if (name == "slice") {
    if (rank == 0) return;
    draft.add_value(std::int64_t{1});
    draft.add_value(std::int64_t{1});
    draft.add_none();
    return draft.add_value(std::int64_t{2});
  }
  if (name == "expand") {
    if (rank == 0) return draft.add_list({2});
    return draft.add_list({2, -1, -1});
  }
  if (name == "unsqueeze") return draft.add_value(std::int64_t{-1});
  if (name == "unbind" || name == "split" || name == "split_with_sizes")
    return draft_cut(draft, name, a);
  if (name == "as_strided") {
    draft.add_list({a.numel() == 0 ? 0 : 1});
    return draft.add_list({1});
  }
  if (name == "diagonal") {
    if (draft.is("above")) draft.add_value(std::int64_t{1});
    if (draft.is("below", "negative")) draft.add_value(std::int64_t{-1});
  }
}

}  // namespace

void draft_indexing(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "one_hot") return draft_one_hot(draft);
  Dims shape = draft.is("first_dim", "last_dim", "negative_dim", "smaller_index", "repeated_index")
                   ? Dims{4, 6}
                   : draft.shape();
  if (draft.is("zero_size")) shape = {3, 5};  // an empty index into something
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t dim = choose_dim(draft, rank);
  const std::int64_t along = rank == 0 ? 1 : shape[dim < 0 ? dim + rank : dim];
  draft.add(draft.tensor(shape));
  draft.add_value(dim);
  if (name == "index_select") {
    return draft.add(draft.indices({rank == 0 ? 1 : draft.is("zero_size") ? 0 : 7}, along));
  }
  Dims index_shape = shape;
  if (draft.is("smaller_index")) index_shape = {2, 3};
  if (draft.is("zero_size")) index_shape = {0, 5};
  draft.add(draft.indices(index_shape, draft.is("repeated_index") ? 1 : along));
  if (name == "scatter_add") draft.add(draft.tensor(index_shape));
}

void draft_movement(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "cat") {
    draft_cat(draft);
    const bool last = draft.is("last_dim", "negative_dim", "transposed");
    if (!draft.is("zero_dim")) draft.add_value(last ? std::int64_t{-1} : std::int64_t{0});
    return;
  }
  const bool has_usual_shape = draft.is("to_bool", "to_integer", "to_half", "to_double");
  draft.add(draft.tensor(has_usual_shape ? Dims{3, 5} : draft.shape()));
  if (name == "cast") draft.add_value(cast_target(draft));
}

void draft_view(Draft& draft) {
  const std::string_view name = draft.op().name();
  const bool has_usual_shape = draft.is("inferred_size", "flat", "split", "first", "last") ||
                               draft.is("negative", "above", "below");
  Tensor a = draft.tensor(has_usual_shape ? Dims{3, 5} : draft.shape());
  draft.add(a);
  if (name == "select" || name == "narrow" || name == "unfold") return draft_window(draft, name);
  draft_view_arguments(draft, name, a);
}

}  // namespace bp
