#include <cmath>

#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/operators.hpp>
#include <backplane/nn/output_losses.hpp>
#include <backplane/nn/sizes.hpp>

#include "initial.hpp"
#include "reduction.hpp"

namespace bp::nn {
namespace {

std::vector<std::int64_t> checked_cutoffs(std::vector<std::int64_t> cutoffs,
                                          std::int64_t n_classes) {
  BP_CHECK(!cutoffs.empty(), "AdaptiveLogSoftmaxWithLoss: there are no cutoffs; pass one at least");
  BP_CHECK(n_classes > 0, "AdaptiveLogSoftmaxWithLoss: {} classes; pass 1 or more", n_classes);
  std::int64_t before = 0;
  for (std::int64_t cutoff : cutoffs) {
    BP_CHECK(cutoff > before && cutoff < n_classes,
             "AdaptiveLogSoftmaxWithLoss: cutoffs {} for {} classes; pass numbers that rise from 1 "
             "to {}",
             repr(IntList(cutoffs)), n_classes, n_classes - 1);
    before = cutoff;
  }
  cutoffs.push_back(n_classes);
  return cutoffs;
}

void check_two(const char* layer, std::span<const Tensor> inputs) {
  BP_CHECK(inputs.size() == 2, "{}: got {} tensors; pass the input and the target", layer,
           inputs.size());
}

// Of all scores of a sample.
std::int64_t num_scores(std::int64_t num_classes, const std::vector<std::int64_t>& sizes) {
  std::int64_t product = num_classes;
  for (std::int64_t size : sizes)
    BP_CHECK(size >= 0 && num_classes >= 0 && !__builtin_mul_overflow(product, size, &product),
             "LinearCrossEntropyLoss: {} classes and out_features {}; pass numbers of 0 or more, "
             "whose product fits into memory",
             num_classes, repr(IntList(sizes)));
  return product;
}

}  // namespace

AdaptiveLogSoftmaxWithLoss::AdaptiveLogSoftmaxWithLoss(std::int64_t in_features,
                                                       std::int64_t n_classes,
                                                       std::vector<std::int64_t> cutoffs,
                                                       const AdaptiveLogSoftmaxOptions& options)
    : head(0, 0, {.dtype = options.dtype, .device = options.device}),
      cutoffs_(checked_cutoffs(std::move(cutoffs), n_classes)) {
  BP_CHECK(options.div_value > 0,
           "AdaptiveLogSoftmaxWithLoss: div_value is {}; pass a number above 0", options.div_value);
  const LinearOptions without_bias = {false, options.dtype, options.device};
  const auto num_clusters = static_cast<std::int64_t>(cutoffs_.size()) - 1;
  head = Linear(in_features, cutoffs_[0] + num_clusters,
                {options.head_bias, options.dtype, options.device});
  for (std::size_t i = 0; i + 1 < cutoffs_.size(); ++i) {
    const double divisor = std::pow(options.div_value, static_cast<double>(i + 1));
    const double projected = std::floor(static_cast<double>(in_features) / divisor);
    BP_CHECK(projected <= static_cast<double>(largest_size),
             "AdaptiveLogSoftmaxWithLoss: div_value {} makes {} of {} features; pass a larger one",
             options.div_value, projected, in_features);
    const auto features = static_cast<std::int64_t>(projected);
    tail.append(Sequential(Linear(in_features, features, without_bias),
                           Linear(features, cutoffs_[i + 1] - cutoffs_[i], without_bias)));
  }
}

void AdaptiveLogSoftmaxWithLoss::list_parts(Parts& parts) {
  parts.module("head", head);
  parts.module("tail", tail);
}

std::pair<Tensor, Tensor> AdaptiveLogSoftmaxWithLoss::forward(const Tensor& input,
                                                              const Tensor& target) const {
  BP_CHECK(target.ndim() <= 1 && input.ndim() == target.ndim() + 1 &&
               (target.ndim() == 0 || input.size(0) == target.size(0)),
           "AdaptiveLogSoftmaxWithLoss: the input is {} and the target {}; pass [N, features] and "
           "[N], or [features] and one class",
           to_string(input.shape()), to_string(target.shape()));
  if (target.ndim() == 0) {
    const auto [output, loss] = forward(unsqueeze(input, 0), unsqueeze(target, 0));
    return {squeeze(output, 0), loss};
  }
  Tensor places = where(target < cutoffs_[0], target, 0);  // in the head's result
  Tensor output = zeros({input.size(0)}, input.dtype(), input.device());
  std::int64_t num_found = nonzero(logical_and(target >= 0, target < cutoffs_[0])).size(0);
  for (std::size_t i = 0; i + 1 < cutoffs_.size(); ++i) {
    const Tensor is_inside = logical_and(target >= cutoffs_[i], target < cutoffs_[i + 1]);
    const Tensor rows = squeeze(nonzero(is_inside), 1);
    num_found += rows.numel();
    if (rows.numel() == 0) continue;
    const std::int64_t cluster = cutoffs_[0] + static_cast<std::int64_t>(i);
    places = where(is_inside, cluster, places);
    const Tensor scores = log_softmax(tail[i](index_select(input, 0, rows)), 1);
    const Tensor chosen = unsqueeze(index_select(target, 0, rows) - cutoffs_[i], 1);
    output = scatter_add(output, 0, rows, squeeze(gather(scores, 1, chosen), 1));
  }
  BP_CHECK(
      num_found == target.numel(),
      "AdaptiveLogSoftmaxWithLoss: {} of {} targets are not classes; pass numbers from 0 to {}",
      target.numel() - num_found, target.numel(), cutoffs_.back() - 1);
  const Tensor heads = log_softmax(head(input), 1);
  output = output + squeeze(gather(heads, 1, unsqueeze(places, 1)), 1);
  return {output, neg(mean(output))};
}

std::vector<Tensor> AdaptiveLogSoftmaxWithLoss::forward_all(std::span<const Tensor> inputs) const {
  check_two("AdaptiveLogSoftmaxWithLoss", inputs);
  const auto [output, loss] = forward(inputs[0], inputs[1]);
  return {output, loss};
}

Tensor AdaptiveLogSoftmaxWithLoss::log_prob(const Tensor& input) const {
  const Tensor heads = log_softmax(head(input), 1);
  std::vector<Tensor> all = {narrow(heads, 1, 0, cutoffs_[0])};
  for (std::size_t i = 0; i + 1 < cutoffs_.size(); ++i)
    all.push_back(log_softmax(tail[i](input), 1) +
                  narrow(heads, 1, cutoffs_[0] + static_cast<std::int64_t>(i), 1));
  return cat(all, 1);
}

Tensor AdaptiveLogSoftmaxWithLoss::predict(const Tensor& input) const {
  return argmax(log_prob(input), 1);
}

LinearCrossEntropyLoss::LinearCrossEntropyLoss(std::int64_t in_features, std::int64_t num_classes,
                                               const LinearCrossEntropyLossOptions& options)
    : linear(in_features, num_scores(num_classes, options.out_features),
             {options.bias, options.dtype, options.device}),
      weight(options.weight), num_classes_(num_classes), options_(options) {
  check_reduction("LinearCrossEntropyLoss", options.reduction);
  BP_CHECK(options.label_smoothing >= 0 && options.label_smoothing <= 1,
           "LinearCrossEntropyLoss: label_smoothing is {}; pass a number from 0 to 1",
           options.label_smoothing);
  BP_CHECK(!weight.defined() || weight.shape() == IntList({num_classes}),
           "LinearCrossEntropyLoss: weight is {} for {} classes; pass one number for each",
           to_string(weight.shape()), num_classes);
}

void LinearCrossEntropyLoss::list_parts(Parts& parts) {
  parts.buffer("weight", weight);
  parts.module("linear", linear);
}

Tensor LinearCrossEntropyLoss::forward(const Tensor& input, const Tensor& target) const {
  BP_CHECK(input.ndim() == 1 || input.ndim() == 2,
           "LinearCrossEntropyLoss: the input is {}; pass [N, features] or [features]",
           to_string(input.shape()));
  std::vector<std::int64_t> shape(input.shape().begin(), input.shape().end() - 1);
  shape.push_back(num_classes_);
  shape.insert(shape.end(), options_.out_features.begin(), options_.out_features.end());
  return cross_entropy(reshape(linear(input), shape), target, weight,
                       options_.ignore_index.value_or(-100), options_.reduction,
                       options_.label_smoothing);
}

std::vector<Tensor> LinearCrossEntropyLoss::forward_all(std::span<const Tensor> inputs) const {
  check_two("LinearCrossEntropyLoss", inputs);
  return {forward(inputs[0], inputs[1])};
}

std::string LinearCrossEntropyLoss::extra_repr() const {
  const std::string out =
      options_.out_features.empty() ? "()" : repr(IntList(options_.out_features));
  return fmt::format(
      "in_features={}, num_classes={}, out_features={}, bias={}, reduction={}, ignore_index={}, "
      "label_smoothing={}, options=None",
      linear.weight.size(1), num_classes_, out, repr(linear.bias.defined()), options_.reduction,
      repr(options_.ignore_index), repr(options_.label_smoothing));
}

}  // namespace bp::nn
