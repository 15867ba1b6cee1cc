// Samples of rows that sum up many elements in one: products, variances, norms.
#include <limits>
#include <string_view>

#include "draft.hpp"

namespace bp {
namespace {

Dims shape_of_statistics(Draft& draft) {
  if (draft.is("middle_dims")) return {2, 3, 4, 5};
  if (draft.is("zero_size")) return {0, 5};
  if (draft.is("first_dim", "last_dim", "negative_dim", "keepdim", "all_dims", "no_dim",
               "uncorrected", "partly_corrected", "count", "absolute", "largest", "smallest",
               "cubic", "half_power"))
    return {4, 6};
  return draft.shape();
}

void add_power(Draft& draft) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double power = 2;
  if (draft.is("count")) power = 0;
  if (draft.is("absolute")) power = 1;
  if (draft.is("largest")) power = infinity;
  if (draft.is("smallest")) power = -infinity;
  if (draft.is("cubic")) power = 3;
  if (draft.is("half_power")) power = 0.5;
  draft.add_value(power);
}

void add_dims(Draft& draft, std::int64_t rank) {
  const bool is_list = draft.op().name() != std::string_view("argmin");
  if (draft.is("all_dims", "no_dim", "zero_dim", "count") || rank == 0) return draft.add_none();
  if (draft.is("middle_dims")) return draft.add_list({1, 2});
  std::int64_t dim = rank - 1;
  if (draft.is("first_dim", "specials")) dim = 0;
  if (draft.is("negative_dim")) dim = -2;
  is_list ? draft.add_list({dim}) : draft.add_value(dim);
}

}  // namespace

void draft_statistics(Draft& draft) {
  const std::string_view name = draft.op().name();
  const Dims shape = shape_of_statistics(draft);
  draft.add(draft.tensor(shape));
  if (name == "norm") add_power(draft);
  add_dims(draft, static_cast<std::int64_t>(shape.size()));
  if (name == "var" || name == "std") {
    const std::int64_t correction = draft.is("uncorrected", "zero_dim") ? 0 : 1;
    draft.is("partly_corrected") ? draft.add_value(0.75) : draft.add_value(correction);
  }
  draft.add_value(draft.is("keepdim"));
}

}  // namespace bp
