// Samples of rows that draw by probabilities.
#include <backplane/core_ops/generated/pointwise.hpp>

#include "draft.hpp"

namespace bp {
namespace {

void draft_multinomial(Draft& draft) {
  const bool is_vector = draft.is("vector", "vector_with_replacement", "more_than_there_are");
  const bool has_replacement =
      draft.is("with_replacement", "vector_with_replacement", "more_than_there_are");
  const bool has_all = draft.is("all_of_them"), is_matrix = draft.is("matrix");
  const Dims shape = is_vector                                 ? Dims{6}
                     : has_replacement || has_all || is_matrix ? Dims{4, 6}
                                                               : draft.shape();
  draft.add(add(abs(draft.tensor(shape)), 0.125));
  draft.add_value(has_all                           ? std::int64_t{6}
                  : draft.is("more_than_there_are") ? std::int64_t{20}
                                                    : std::int64_t{3});
  draft.add_value(has_replacement);
}

}  // namespace

void draft_draw(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "multinomial") return draft_multinomial(draft);
  const bool has_number = draft.is("with_number", "number"), is_row = draft.is("row");
  const bool is_never = draft.is("never"), is_always = draft.is("always");
  const bool has_usual_shape = has_number || is_row || is_never || is_always;
  const Dims shape = has_usual_shape ? Dims{3, 5} : draft.shape();
  const Tensor values =
      draft.tensor(shape);  // within 2, so that squares of halves are probabilities
  draft.add(name == "bernoulli" ? square(mul(values, 0.5)) : values);
  if (name == "normal" && !has_number) return draft.add(draft.tensor(is_row ? Dims{5} : shape));
  if (has_number || is_never || is_always) draft.add_value(is_never ? 0.0 : is_always ? 1.0 : 0.25);
}

}  // namespace bp
