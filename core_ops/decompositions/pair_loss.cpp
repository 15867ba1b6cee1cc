// Losses of margins and likelihoods.
#include <numbers>

#include <backplane/core_ops/operators.hpp>
#include <backplane/tensor/check.hpp>

#include "decompositions/complex.hpp"
#include "decompositions/loss.hpp"

namespace bp {

Tensor huber_by_parts_of(const Tensor& input, const Tensor& target, std::string_view reduction,
                         double delta) {
  BP_CHECK(delta > 0, "huber_loss: delta is {}, and must be above 0; l1_loss has no quadratic part",
           delta);
  check_real("huber_loss", {input, target});
  const Tensor difference = sub(input, target);
  const Tensor distance = abs(difference);
  const Tensor near = mul(mul(difference, difference), 0.5);
  const Tensor far = mul(sub(distance, 0.5 * delta), delta);
  return reduced_loss("huber_loss", where(lt(distance, delta), near, far), reduction);
}

Tensor soft_margin_by_softplus(const Tensor& input, const Tensor& target,
                               std::string_view reduction) {
  // Beyond this threshold exp(-a) no longer counts in float64.
  return reduced_loss("soft_margin_loss", softplus(neg(mul(target, input)), 1, 40), reduction);
}

// As in PyTorch, a target other than 1 and -1 gets both sides.
Tensor hinge_embedding_by_sides(const Tensor& input, const Tensor& target, double margin,
                                std::string_view reduction) {
  const Tensor apart = where(ne(target, 1), clamp_min(sub(margin, input), 0), 0);
  const Tensor together = where(ne(target, -1), input, 0);
  return reduced_loss("hinge_embedding_loss", add(apart, together), reduction);
}

Tensor margin_ranking_by_differences(const Tensor& input1, const Tensor& input2,
                                     const Tensor& target, double margin,
                                     std::string_view reduction) {
  const Tensor wrong = mul(neg(target), sub(input1, input2));
  return reduced_loss("margin_ranking_loss", clamp_min(add(wrong, margin), 0), reduction);
}

// Where Stirling's approximation is not used, no logarithm is taken: its gradient could be NaN.
Tensor poisson_likelihood(const Tensor& input, const Tensor& target, bool log_input, bool full,
                          double eps, std::string_view reduction) {
  Tensor loss = log_input ? sub(exp(input), mul(target, input))
                          : sub(input, mul(target, log(add(input, eps))));
  if (full) {
    const Tensor is_large = gt(target, 1);
    const Tensor count = where(is_large, target, 2);
    const Tensor root = mul(log(mul(count, 2 * std::numbers::pi)), 0.5);
    loss = add(loss, where(is_large, add(sub(mul(count, log(count)), count), root), 0));
  }
  return reduced_loss("poisson_nll_loss", loss, reduction);
}

Tensor binary_cross_entropy_of_parts(const Tensor& input, const Tensor& target,
                                     const Tensor& weight, std::string_view reduction) {
  BP_CHECK(input.shape() == target.shape(),
           "binary_cross_entropy: input has shape {} and target {}; make them equal",
           to_string(input.shape()), to_string(target.shape()));
  // At 0 and 1 no logarithm is taken: its derivative times nothing would be NaN.
  const Tensor is_zero = eq(input, 0), is_one = eq(input, 1);
  const Tensor hit = where(is_zero, -100, clamp_min(log(where(is_zero, 1, input)), -100));
  const Tensor missed = where(is_one, -100, clamp_min(log1p(neg(where(is_one, 0, input))), -100));
  Tensor loss = neg(add(mul(target, hit), mul(sub(1, target), missed)));
  if (weight.defined()) loss = mul(loss, weight);
  return reduced_loss("binary_cross_entropy", loss, reduction);
}

}  // namespace bp
