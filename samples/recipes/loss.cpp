// Samples of losses.
#include <string_view>

#include "draft.hpp"

namespace bp {
namespace {

using std::string_view;

void add_reduction(Draft& draft) {
  const bool is_sum = draft.is("summed", "all_ignored"), is_each = draft.is("each");
  draft.add_value(is_sum    ? string_view("sum")
                  : is_each ? string_view("none")
                            : string_view("mean"));
}

Dims shape_of_loss(Draft& draft) {
  return draft.is("row", "summed", "each", "narrow", "absolute", "weighted", "pos_weighted",
                  "batch_mean", "log_target")
             ? Dims{4, 6}
             : draft.shape();
}

void draft_distance(Draft& draft) {
  const Dims shape = shape_of_loss(draft);
  draft.add(draft.tensor(shape));
  draft.add(draft.tensor(draft.is("row") ? Dims{6} : shape));
  add_reduction(draft);
  if (draft.is("narrow")) draft.add_value(0.3);
  if (draft.is("absolute")) draft.add_value(0.0);
}

void draft_entropy_of_logits(Draft& draft) {
  const Dims shape = shape_of_loss(draft);
  draft.add(draft.tensor(shape));
  draft.add(draft.between(shape, 0, 1));
  draft.is("weighted") ? draft.add(draft.between({4, 1}, 0.5, 2)) : draft.add_none();
  add_reduction(draft);
  if (draft.is("pos_weighted")) draft.add(draft.between({6}, 0.5, 3));
}

void draft_divergence(Draft& draft) {
  const Dims shape = shape_of_loss(draft);
  const bool has_log_target = draft.is("log_target");
  draft.add(draft.tensor(shape));
  draft.add(has_log_target ? draft.tensor(shape)
                           : draft.between(draft.is("row") ? Dims{6} : shape, 0, 1));
  if (draft.is("batch_mean"))
    draft.add_value(string_view("batchmean"));
  else
    add_reduction(draft);
  if (has_log_target) draft.add_value(true);
}

Dims shape_of_classes(Draft& draft) {
  if (draft.is("one_sample")) return {5};
  if (draft.is("images")) return {2, 5, 3, 4};
  if (draft.is("weighted", "ignored", "all_ignored", "summed", "each", "smoothed",
               "smoothed_weighted", "probabilities", "probabilities_weighted",
               "probabilities_smoothed"))
    return {4, 6};
  return draft.shape();
}

void draft_classes(Draft& draft) {
  const Dims shape = shape_of_classes(draft);
  const std::size_t class_dim = shape.size() == 1 ? 0 : 1;
  const std::int64_t num_classes = shape[class_dim];
  Dims target(shape);
  target.erase(class_dim);
  draft.add(draft.tensor(shape));
  if (draft.is("probabilities", "probabilities_weighted", "probabilities_smoothed"))
    draft.add(draft.between(shape, 0, 1));
  else
    draft.add(draft.indices(target, draft.is("all_ignored") ? 1 : num_classes));
  if (draft.is("weighted", "smoothed_weighted", "probabilities_weighted"))
    draft.add(draft.between({num_classes}, 0.5, 2));
  else
    draft.add_none();
  draft.add_value(draft.is("all_ignored")                    ? std::int64_t{0}
                  : draft.is("ignored", "smoothed_weighted") ? std::int64_t{2}
                                                             : std::int64_t{-100});
  add_reduction(draft);
  if (draft.is("smoothed", "smoothed_weighted", "probabilities_smoothed")) draft.add_value(0.1);
}

}  // namespace

void draft_loss(Draft& draft) {
  const string_view name = draft.op().name();
  if (name == "binary_cross_entropy_with_logits") return draft_entropy_of_logits(draft);
  if (name == "kl_div") return draft_divergence(draft);
  if (name == "nll_loss" || name == "cross_entropy") return draft_classes(draft);
  draft_distance(draft);
}

}  // namespace bp
