// Losses that compare scores or distances with each other.
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/operators.hpp>
#include <backplane/nn/losses.hpp>

#include "reduction.hpp"

namespace bp::nn {

void HingeEmbeddingLossOptions::check() const {
  check_reduction("HingeEmbeddingLoss", reduction);
}

Tensor HingeEmbeddingLossOptions::apply(const Tensor& input, const Tensor& target) const {
  return hinge_embedding_loss(input, target, margin, reduction);
}

void MarginRankingLossOptions::check() const {
  check_reduction("MarginRankingLoss", reduction);
}

Tensor MarginRankingLossOptions::apply(const Tensor& input1, const Tensor& input2,
                                       const Tensor& target) const {
  return margin_ranking_loss(input1, input2, target, margin, reduction);
}

void SoftMarginLossOptions::check() const {
  check_reduction("SoftMarginLoss", reduction);
}

Tensor SoftMarginLossOptions::apply(const Tensor& input, const Tensor& target) const {
  return soft_margin_loss(input, target, reduction);
}

void MultiMarginLossOptions::check() const {
  check_reduction("MultiMarginLoss", reduction);
  BP_CHECK(p == 1 || p == 2, "MultiMarginLoss: p is {}; pass 1 or 2", p);
  BP_CHECK(!weight.defined() || weight.ndim() == 1,
           "MultiMarginLoss: weight is {}; pass one number for each class",
           to_string(weight.shape()));
}

Tensor MultiMarginLossOptions::apply(const Tensor& input, const Tensor& target) const {
  return multi_margin_loss(input, target, p, margin, weight, reduction);
}

void MultiLabelMarginLossOptions::check() const {
  check_reduction("MultiLabelMarginLoss", reduction);
}

Tensor MultiLabelMarginLossOptions::apply(const Tensor& input, const Tensor& target) const {
  BP_CHECK((input.ndim() == 1 || input.ndim() == 2) && target.shape() == input.shape(),
           "MultiLabelMarginLoss: the input is {} and the target {}; pass both [N, C] or [C]",
           to_string(input.shape()), to_string(target.shape()));
  const std::int64_t classes = input.size(-1);
  BP_CHECK(classes > 0, "MultiLabelMarginLoss: the input is {} and has no class; pass at least one",
           to_string(input.shape()));
  const Tensor labels = reshape(target, {-1, classes});
  const Tensor scores = reshape(input, {-1, classes});
  const Tensor counts = cumsum(cast(labels < 0, i64), 1) == 0;  // before the first -1
  const Tensor chosen = where(counts, labels, 0);
  const Tensor is_label = scatter_add(zeros_like(chosen), 1, chosen, cast(counts, i64)) > 0;
  const Tensor margins = relu(1 - unsqueeze(gather(scores, 1, chosen), 2) + unsqueeze(scores, 1));
  const Tensor weights =
      cast(logical_and(unsqueeze(counts, 2), unsqueeze(logical_not(is_label), 1)), input.dtype());
  const Tensor losses = sum(margins * weights, {1, 2}) / classes;
  return reduced(input.ndim() == 1 ? squeeze(losses, 0) : losses, reduction);
}

void MultiLabelSoftMarginLossOptions::check() const {
  check_reduction("MultiLabelSoftMarginLoss", reduction);
}

Tensor MultiLabelSoftMarginLossOptions::apply(const Tensor& input, const Tensor& target) const {
  const Tensor losses = binary_cross_entropy_with_logits(input, target, weight, "none");
  return reduced(mean(losses, -1), reduction);
}

void CosineEmbeddingLossOptions::check() const {
  check_reduction("CosineEmbeddingLoss", reduction);
}

Tensor CosineEmbeddingLossOptions::apply(const Tensor& input1, const Tensor& input2,
                                         const Tensor& target) const {
  return cosine_embedding_loss(input1, input2, target, margin, reduction);
}

void TripletMarginLossOptions::check() const {
  check_reduction("TripletMarginLoss", reduction);
  BP_CHECK(margin > 0, "TripletMarginLoss: margin is {}; pass a number above 0", margin);
}

Tensor TripletMarginLossOptions::apply(const Tensor& anchor, const Tensor& positive,
                                       const Tensor& negative) const {
  return triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction);
}

void TripletMarginWithDistanceLossOptions::check() const {
  check_reduction("TripletMarginWithDistanceLoss", reduction);
  BP_CHECK(margin > 0, "TripletMarginWithDistanceLoss: margin is {}; pass a number above 0",
           margin);
}

Tensor TripletMarginWithDistanceLossOptions::apply(const Tensor& anchor, const Tensor& positive,
                                                   const Tensor& negative) const {
  const auto distance = [&](const Tensor& a, const Tensor& b) {
    return distance_function ? distance_function(a, b) : pairwise_distance(a, b);
  };
  Tensor apart = distance(anchor, negative);
  if (swap) apart = minimum(apart, distance(positive, negative));
  return reduced(relu(distance(anchor, positive) - apart + margin), reduction);
}

}  // namespace bp::nn
