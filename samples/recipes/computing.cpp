// Samples of rows that compute: elementwise, along dimensions, over matrices.
#include <backplane/tensor/views.hpp>

#include "draft.hpp"

namespace bp {
namespace {

struct Pair {
  Tensor a, b;
};

Pair special_pairs(Draft& draft) {
  const Tensor values = draft.specials(draft.dtype());
  const std::int64_t count = values.numel();
  return {views::expand(views::unsqueeze(values, 1), {count, count}), values};
}

Pair pair_for(Draft& draft) {
  if (draft.is("row")) return {draft.tensor({3, 5}), draft.tensor({5})};
  if (draft.is("column")) return {draft.tensor({3, 5}), draft.tensor({3, 1})};
  if (draft.is("scalar")) return {draft.tensor({3, 5}), draft.tensor({})};
  if (draft.is("two_sided")) return {draft.tensor({3, 1}), draft.tensor({1, 5})};
  if (draft.is("zero_size")) return {draft.tensor({0, 5}), draft.tensor({1, 5})};
  if (draft.is("specials")) return special_pairs(draft);
  if (draft.is("aliased")) {
    const Tensor a = draft.tensor({3, 5});
    return {a, a};
  }
  const Dims shape = draft.shape();
  return {draft.tensor(shape), draft.tensor(shape)};
}

std::size_t num_tensors(const Operator& op) {
  std::size_t count = 0;
  for (const SchemaArgument& argument : op.schema->arguments)
    count += argument.type == ArgumentType::tensor;
  return count;
}

// The numbers beside one tensor (clamp's bounds): those that have defaults only where the recipe asks for
// numbers, which then are fractions.
void add_numbers(Draft& draft) {
  const bool has_fractions = draft.is("number");
  const std::vector<SchemaArgument>& arguments = draft.op().schema->arguments;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i].has_default && !has_fractions) return;
    const auto whole = static_cast<std::int64_t>(i) - 1;
    has_fractions ? draft.add_value(static_cast<double>(whole) + 0.5) : draft.add_value(whole);
  }
}

// Four dimensions where the recipe's name asks for a middle.
Dims shape_along(Draft& draft) {
  if (draft.is("middle_dim", "middle_dims")) return {2, 3, 4, 5};
  if (draft.is("first_dim", "last_dim", "negative_dim", "keepdim", "descending", "all_dims",
               "no_dim", "repeated_values", "large_values"))
    return {4, 6};
  return draft.shape();
}

std::int64_t dim_along(Draft& draft, std::int64_t rank) {
  if (draft.is("first_dim")) return 0;
  if (draft.is("middle_dim")) return 1;
  if (draft.is("negative_dim")) return rank > 1 ? -2 : -1;
  return rank > 0 ? rank - 1 : 0;
}

}  // namespace

void draft_pointwise(Draft& draft) {
  const bool has_condition = draft.op().schema->arguments[0].name == "condition";
  if (num_tensors(draft.op()) == 1) {
    draft.add(draft.tensor(draft.shape()));
    return add_numbers(draft);
  }
  if (draft.is("number")) {
    const Tensor a = draft.tensor({3, 5});
    if (has_condition) draft.add(draft.tensor({3, 5}, boolean));
    draft.add(a);
    if (draft.op().scalar_ok == 0) return draft.add(draft.tensor({}));
    return draft.dtype() == boolean ? draft.add_value(true) : draft.add_value(std::int64_t{2});
  }
  const Pair pair = pair_for(draft);
  if (has_condition) {
    const Dims shape = broadcast_shapes("where", pair.a.shape(), pair.b.shape());
    const bool is_special = draft.is("specials");
    draft.add(is_special ? views::expand(draft.choices(pair.b.numel()), shape)
                         : draft.tensor(shape, boolean));
  }
  draft.add(pair.a);
  draft.add(pair.b);
  if (num_tensors(draft.op()) == 3 && !has_condition)
    draft.add(draft.is("aliased") ? pair.b : draft.tensor(pair.b.shape()));
}

void draft_reduction(Draft& draft) {
  const bool takes_list = draft.op().schema->arguments[1].type == ArgumentType::integer_list;
  Dims shape = shape_along(draft);
  if (draft.is("zero_size") && !(draft.op().flags & BP_OP_SHAPE_DATA)) shape = {0, 5};
  draft.add(draft.tensor(shape));
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (draft.is("all_dims", "no_dim", "zero_dim") || rank == 0) {
    draft.add_none();
  } else if (draft.is("middle_dims")) {
    draft.add_list({1, 2});
  } else if (draft.is("specials")) {
    takes_list ? draft.add_list({0}) : draft.add_value(std::int64_t{0});
  } else {
    const std::int64_t dim = dim_along(draft, rank);
    takes_list ? draft.add_list({dim}) : draft.add_value(dim);
  }
  draft.add_value(draft.is("keepdim"));
}

void draft_along(Draft& draft) {
  const Dims shape = shape_along(draft);
  if (draft.is("large_values")) {
    // exp overflows unless the largest is taken off first.
    draft.add(views::narrow(draft.specials(draft.dtype()), 0, 3, 9));  // all finite
  } else if (draft.is("repeated_values")) {
    draft.add(views::expand(draft.tensor({4, 1}), {4, 6}));
  } else {
    draft.add(draft.tensor(shape));
  }
  const bool is_vector = draft.is("specials", "large_values");
  draft.add_value(is_vector ? std::int64_t{0}
                            : dim_along(draft, static_cast<std::int64_t>(shape.size())));
  if (draft.is("descending")) draft.add_value(true);
}

void draft_matmul(Draft& draft) {
  const bool is_batched = std::string_view(draft.op().name()) == "bmm";
  Dims a{4, 5};
  Dims b{5, 6};
  if (draft.is("square")) a = b = {4, 4};
  if (draft.is("one_batch")) a = {1, 4, 5}, b = {1, 5, 6};
  if (draft.is("batch")) a = {3, 4, 5}, b = {3, 5, 6};
  if (draft.is("batch_broadcast")) a = {2, 1, 4, 5}, b = {3, 5, 6};
  if (draft.is("batch_left")) a = {3, 4, 5}, b = {5, 6};
  if (draft.is("vector_left")) a = {5};
  if (draft.is("vector_right")) b = {5};
  if (draft.is("vectors")) a = b = {5};
  if (draft.is("empty_inner")) a = {4, 0}, b = {0, 6};
  if (draft.is("zero_size")) a = {0, 5};
  if (draft.is("several_tiles")) a = {33, 129}, b = {129, 65};
  if (draft.is("size_one")) a = b = {1, 1};
  if (is_batched && a.size() == 2) a.insert(0, 2), b.insert(0, 2);
  // A call takes matrices; bp::matmul makes them of vectors.
  if (!is_batched && a.size() == 1) a.insert(0, 1);
  if (!is_batched && b.size() == 1) b.insert(1, 1);
  draft.add(draft.tensor(a));
  draft.add(draft.tensor(b));
}

}  // namespace bp
