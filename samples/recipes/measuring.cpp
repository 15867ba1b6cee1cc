// Samples of rows that count, compare, and take differences and running products.
#include <limits>
#include <string_view>

#include "draft.hpp"

namespace bp {
namespace {

Dims shape_of_measured(Draft& draft) {
  if (draft.is("middle_dims")) return {2, 3, 4, 5};
  if (draft.is("zero_size")) return {0, 5};
  if (draft.is("first_dim", "last_dim", "negative_dim", "keepdim", "all_dims")) return {4, 6};
  return draft.shape();
}

void add_measured_dims(Draft& draft, std::int64_t rank, bool is_list) {
  if (draft.is("all_dims", "zero_dim") || rank == 0) return draft.add_none();
  if (draft.is("middle_dims")) return draft.add_list({1, 2});
  std::int64_t dim = rank - 1;
  if (draft.is("first_dim", "specials")) dim = 0;
  if (draft.is("negative_dim")) dim = -2;
  is_list ? draft.add_list({dim}) : draft.add_value(dim);
}

void draft_reduced(Draft& draft, std::string_view name) {
  const Dims shape = shape_of_measured(draft);
  draft.add(draft.tensor(shape));
  add_measured_dims(draft, static_cast<std::int64_t>(shape.size()), name != "aminmax");
  if (name == "count_nonzero") return;
  if (name.ends_with("_mean")) draft.add_value(std::int64_t{draft.is("zero_dim") ? 0 : 1});
  draft.add_value(draft.is("keepdim"));
}

void draft_numbers(Draft& draft) {
  const bool is_given = draft.is("given");
  draft.add(draft.tensor(is_given ? Dims{4, 6} : draft.shape()));
  if (!is_given) return;
  draft.add_value(1.5);
  draft.add_value(100.0);
  draft.add_value(-100.0);
}

void draft_closeness(Draft& draft) {
  const bool is_row = draft.is("row"), is_loose = draft.is("loose"), has_nan = draft.is("nan_too");
  const Dims shape = is_row || is_loose || has_nan || draft.is("same") ? Dims{4, 6} : draft.shape();
  draft.add(draft.tensor(shape));
  draft.add(draft.tensor(is_row ? Dims{6} : shape));
  if (!is_loose && !has_nan) return;
  draft.add_value(0.25);
  draft.add_value(0.5);
  draft.add_value(has_nan);
}

void draft_differences(Draft& draft) {
  const bool is_twice = draft.is("twice"), is_never = draft.is("never");
  const bool is_often = draft.is("too_often"), is_joined = draft.is("joined");
  const bool is_first = draft.is("first_dim"), is_negative = draft.is("negative_dim");
  const bool has_usual_shape = is_twice || is_never || is_often || is_joined || is_first ||
                               is_negative || draft.is("last_dim");
  draft.add(draft.tensor(has_usual_shape ? Dims{4, 6} : draft.shape()));
  draft.add_value(is_twice   ? std::int64_t{2}
                  : is_never ? std::int64_t{0}
                  : is_often ? std::int64_t{9}
                             : std::int64_t{1});
  draft.add_value(is_first ? std::int64_t{0} : is_negative ? std::int64_t{-2} : std::int64_t{-1});
  if (!is_joined) return;
  draft.add(draft.tensor({4, 2}));
  draft.add(draft.tensor({4, 1}));
}

void draft_one_dim(Draft& draft, bool has_keepdim) {
  const bool is_first = draft.is("first_dim"), is_middle = draft.is("middle_dim");
  const bool is_negative = draft.is("negative_dim"), keeps = has_keepdim && draft.is("keepdim");
  const bool has_usual_shape = is_first || is_negative || keeps || draft.is("last_dim");
  const Dims shape = is_middle                   ? Dims{2, 5, 3}
                     : has_usual_shape           ? Dims{4, 6}
                     : draft.is("several_tiles") ? Dims{3, 134}
                                                 : draft.shape();
  draft.add(draft.tensor(shape));
  draft.add_value(is_first || shape.size() < 2 || draft.is("specials") ? std::int64_t{0}
                  : is_negative                                        ? std::int64_t{-2}
                                                                       : std::int64_t{1});
  if (has_keepdim) draft.add_value(keeps);
}

}  // namespace

void draft_measuring(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "nan_to_num") return draft_numbers(draft);
  if (name == "isclose") return draft_closeness(draft);
  if (name == "diff") return draft_differences(draft);
  if (name == "cumprod" || name == "_safe_softmax") return draft_one_dim(draft, false);
  if (name.ends_with("median")) return draft_one_dim(draft, true);
  draft_reduced(draft, name);
}

}  // namespace bp
