// Samples of rows that run along a dimension, or choose in order.
#include <string_view>

#include <backplane/tensor/views.hpp>

#include "draft.hpp"

namespace bp {
namespace {

void draft_scanned(Draft& draft, std::string_view name) {
  const bool is_first = draft.is("first_dim"), is_middle = draft.is("middle_dim");
  const bool is_negative = draft.is("negative_dim"), is_repeated = draft.is("repeated_values");
  const bool chooses = name == "mode" || name == "kthvalue";
  const bool keeps = chooses && draft.is("keepdim");
  const bool has_usual_shape =
      is_first || is_negative || is_repeated || keeps || draft.is("last_dim");
  const Dims shape = is_middle                   ? Dims{2, 5, 3}
                     : has_usual_shape           ? Dims{4, 6}
                     : draft.is("several_tiles") ? Dims{3, 134}
                                                 : draft.shape();
  draft.add(is_repeated ? views::expand(draft.tensor({4, 1}), shape) : draft.tensor(shape));
  const bool is_short = shape.empty() || draft.is("size_one");
  if (name == "kthvalue") draft.add_value(std::int64_t{is_short ? 1 : 2});
  const bool is_vector = shape.empty() || draft.is("specials");
  draft.add_value(is_first || is_vector ? std::int64_t{0}
                  : is_negative         ? std::int64_t{-2}
                                        : std::int64_t{1});
  if (chooses) draft.add_value(keeps);
}

}  // namespace

void draft_scanning(Draft& draft) {
  const std::string_view name = draft.op().name();
  draft_scanned(draft, name);
}

}  // namespace bp
