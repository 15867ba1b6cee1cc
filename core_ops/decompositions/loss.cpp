#include "decompositions/loss.hpp"

#include <backplane/core_ops/operators.hpp>
#include <backplane/tensor/check.hpp>

#include "decompositions/complex.hpp"

namespace bp {
namespace {

// log(1 + exp(a)) to the last digit of float64: the threshold is where exp(-a) ends to count.
Tensor exact_softplus(const Tensor& input) {
  return softplus(input, 1, 40);
}

}  // namespace

void check_reduction(std::string_view op, std::string_view reduction) {
  BP_CHECK(reduction == "mean" || reduction == "sum" || reduction == "none",
           "{}: reduction is '{}', which is none of 'mean', 'sum' and 'none'; pass one of these",
           op, reduction);
}

Tensor reduced_loss(std::string_view op, const Tensor& loss, std::string_view reduction) {
  check_reduction(op, reduction);
  if (reduction == "none") return loss;
  return reduction == "sum" ? sum(loss) : mean(loss);
}

Tensor smooth_l1_by_parts_of(const Tensor& input, const Tensor& target, std::string_view reduction,
                             double beta) {
  BP_CHECK(beta >= 0, "smooth_l1_loss: beta is {}, and must not be below 0; pass 0 for l1_loss",
           beta);
  check_real("smooth_l1_loss", {input, target});
  const Tensor difference = sub(input, target);
  const Tensor distance = abs(difference);
  if (beta == 0) return reduced_loss("smooth_l1_loss", distance, reduction);
  const Tensor near = mul(mul(difference, difference), 0.5 / beta);
  const Tensor loss = where(lt(distance, beta), near, sub(distance, 0.5 * beta));
  return reduced_loss("smooth_l1_loss", loss, reduction);
}

// With softplus(-x) = -log(sigmoid(x)) and -log(1 - sigmoid(x)) = x + softplus(-x).
Tensor binary_cross_entropy_of_logits(const Tensor& input, const Tensor& target,
                                      const Tensor& weight, std::string_view reduction,
                                      const Tensor& pos_weight) {
  BP_CHECK(input.shape() == target.shape(),
           "binary_cross_entropy_with_logits: input has shape {} and target {}; make them equal",
           to_string(input.shape()), to_string(target.shape()));
  const Tensor missed = exact_softplus(neg(input));
  const Tensor others = mul(sub(1, target), input);
  Tensor loss = pos_weight.defined()
                    ? add(others, mul(add(mul(sub(pos_weight, 1), target), 1), missed))
                    : add(others, missed);
  if (weight.defined()) loss = mul(loss, weight);
  return reduced_loss("binary_cross_entropy_with_logits", loss, reduction);
}

// 0 * log(0) is 0 here, and log is not taken of it, since its gradient would be nan.
Tensor divergence_from_logs(const Tensor& input, const Tensor& target, std::string_view reduction,
                            bool log_target) {
  const bool by_batch = reduction == "batchmean";
  BP_CHECK(!by_batch || input.ndim() != 0,
           "kl_div: reduction is 'batchmean' and input has shape {}, without a batch; pass 'sum'",
           to_string(input.shape()));
  Tensor loss;
  if (log_target) {
    loss = mul(exp(target), sub(target, input));
  } else {
    const Tensor logarithm = log(where(eq(target, 0), 1, target));
    loss = sub(mul(target, logarithm), mul(target, input));
  }
  if (by_batch) return div(sum(loss), input.size(0));
  return reduced_loss("kl_div", loss, reduction);
}

}  // namespace bp
