// Losses of outputs and targets of one shape, or of classes.
#include <cmath>
#include <numbers>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/operators.hpp>
#include <backplane/nn/losses.hpp>
#include <backplane/tensor/check.hpp>

#include "reduction.hpp"

namespace bp::nn {
namespace {

// The variances, no less than eps, through which gradients go as if they were not limited.
Tensor limited(const Tensor& var, double eps) {
  const Tensor values = detach(var);
  return var + (clamp_min(values, eps) - values);
}

}  // namespace

void CrossEntropyLossOptions::check() const {
  check_reduction("CrossEntropyLoss", reduction);
  BP_CHECK(label_smoothing >= 0 && label_smoothing <= 1,
           "CrossEntropyLoss: label_smoothing is {}; pass a number from 0 to 1", label_smoothing);
}

Tensor CrossEntropyLossOptions::apply(const Tensor& input, const Tensor& target) const {
  return cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing);
}

void NLLLossOptions::check() const {
  check_reduction("NLLLoss", reduction);
}

Tensor NLLLossOptions::apply(const Tensor& input, const Tensor& target) const {
  return nll_loss(input, target, weight, ignore_index, reduction);
}

void MSELossOptions::check() const {
  check_reduction("MSELoss", reduction);
}

Tensor MSELossOptions::apply(const Tensor& input, const Tensor& target) const {
  return mse_loss(input, target, reduction);
}

void L1LossOptions::check() const {
  check_reduction("L1Loss", reduction);
}

Tensor L1LossOptions::apply(const Tensor& input, const Tensor& target) const {
  return l1_loss(input, target, reduction);
}

void SmoothL1LossOptions::check() const {
  check_reduction("SmoothL1Loss", reduction);
  BP_CHECK(beta >= 0, "SmoothL1Loss: beta is {}; pass 0 or more", beta);
}

Tensor SmoothL1LossOptions::apply(const Tensor& input, const Tensor& target) const {
  return beta == 0 ? l1_loss(input, target, reduction)
                   : smooth_l1_loss(input, target, reduction, beta);
}

void HuberLossOptions::check() const {
  check_reduction("HuberLoss", reduction);
  BP_CHECK(delta > 0, "HuberLoss: delta is {}; pass a number above 0", delta);
}

Tensor HuberLossOptions::apply(const Tensor& input, const Tensor& target) const {
  return huber_loss(input, target, reduction, delta);
}

void BCELossOptions::check() const {
  check_reduction("BCELoss", reduction);
}

Tensor BCELossOptions::apply(const Tensor& input, const Tensor& target) const {
  return binary_cross_entropy(input, target, weight, reduction);
}

void BCEWithLogitsLossOptions::check() const {
  check_reduction("BCEWithLogitsLoss", reduction);
}

Tensor BCEWithLogitsLossOptions::apply(const Tensor& input, const Tensor& target) const {
  return binary_cross_entropy_with_logits(input, target, weight, reduction, pos_weight);
}

void KLDivLossOptions::check() const {
  if (reduction != "batchmean") check_reduction("KLDivLoss", reduction);
}

Tensor KLDivLossOptions::apply(const Tensor& input, const Tensor& target) const {
  if (reduction != "batchmean") return kl_div(input, target, reduction, log_target);
  return kl_div(input, target, "sum", log_target) / (input.ndim() ? input.size(0) : 1);
}

void PoissonNLLLossOptions::check() const {
  check_reduction("PoissonNLLLoss", reduction);
}

Tensor PoissonNLLLossOptions::apply(const Tensor& input, const Tensor& target) const {
  return poisson_nll_loss(input, target, log_input, full, eps, reduction);
}

void GaussianNLLLossOptions::check() const {
  check_reduction("GaussianNLLLoss", reduction);
  BP_CHECK(eps > 0, "GaussianNLLLoss: eps is {}; pass a number above 0", eps);
}

Tensor GaussianNLLLossOptions::apply(const Tensor& input, const Tensor& target,
                                     const Tensor& var) const {
  const IntList shape = input.shape();
  const bool lacks_last = !shape.empty() && IntList(shape.data(), shape.size() - 1) == var.shape();
  const Tensor variances = var.shape() != shape && lacks_last ? unsqueeze(var, -1) : var;
  bool fits = variances.ndim() == input.ndim() || variances.numel() == 1;
  for (std::size_t i = 0; fits && variances.ndim() == input.ndim() && i < shape.size(); ++i)
    fits = variances.shape()[i] == shape[i] || variances.shape()[i] == 1;
  BP_CHECK(fits,
           "GaussianNLLLoss: var is {} for an input of {}; pass the same shape, or one whose last "
           "dimension is 1 or missing",
           to_string(var.shape()), to_string(shape));
  BP_CHECK(!item<bool>(any(detach(variances) < 0)),
           "GaussianNLLLoss: var has a number below 0; variances are 0 or more");
  const Tensor limits = limited(variances, eps);
  const Tensor difference = input - target;
  Tensor loss = (log(limits) + difference * difference / limits) * 0.5;
  if (full) loss = loss + 0.5 * std::log(2 * std::numbers::pi);
  return reduced(loss, reduction);
}

void CTCLossOptions::check() const {
  check_reduction("CTCLoss", reduction);
  BP_CHECK(blank >= 0, "CTCLoss: blank is {}; pass a class", blank);
}

Tensor CTCLossOptions::apply(const Tensor& log_probs, const Tensor& targets,
                             const Tensor& input_lengths, const Tensor& target_lengths) const {
  return ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction,
                  zero_infinity);
}

}  // namespace bp::nn
