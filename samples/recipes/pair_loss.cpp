// Samples of losses of margins and likelihoods.
#include <string_view>

#include "draft.hpp"

namespace bp {
namespace {

void add_kind_of_sum(Draft& draft) {
  const bool is_sum = draft.is("summed"), is_each = draft.is("each");
  const std::string_view reduction = is_sum ? "sum" : is_each ? "none" : "mean";
  draft.add_value(reduction);
}

Dims shape_of_pair(Draft& draft) {
  return draft.is("row", "summed", "each", "narrow", "weighted", "rates", "with_constant")
             ? Dims{4, 6}
             : draft.shape();
}

void draft_likelihood(Draft& draft, bool is_poisson) {
  const Dims shape = shape_of_pair(draft);
  const bool is_of_rates = draft.is("rates"), has_constant = draft.is("with_constant");
  if (!is_poisson) {
    draft.add(draft.between(shape, 0.05, 0.95));
    draft.add(draft.between(shape, 0, 1));
    draft.is("weighted") ? draft.add(draft.between({4, 1}, 0.5, 2)) : draft.add_none();
    return add_kind_of_sum(draft);
  }
  draft.add(is_of_rates ? draft.between(shape, 0.5, 3) : draft.tensor(shape));
  draft.add(draft.between(shape, 0.25, 5));
  draft.add_value(!is_of_rates);
  draft.add_value(has_constant);
  draft.add_value(1e-8);
  add_kind_of_sum(draft);
}

}  // namespace

void draft_pair_loss(Draft& draft) {
  const std::string_view name = draft.op().name();
  const bool is_poisson = name == "poisson_nll_loss";
  draft.is("same", "non_contiguous", "transposed");
  if (is_poisson || name == "binary_cross_entropy") return draft_likelihood(draft, is_poisson);
  const Dims shape = shape_of_pair(draft);
  draft.add(draft.tensor(shape));
  if (name == "margin_ranking_loss") draft.add(draft.tensor(shape));
  draft.add(draft.tensor(draft.is("row") ? Dims{6} : shape));
  if (name == "hinge_embedding_loss" || name == "margin_ranking_loss") draft.add_value(0.71);
  add_kind_of_sum(draft);
  if (draft.is("narrow")) draft.add_value(0.3);
}

}  // namespace bp
