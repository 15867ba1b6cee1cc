// Losses of classes: nll_loss and cross_entropy.
#include <backplane/core_ops/operators.hpp>
#include <backplane/tensor/check.hpp>

#include "decompositions/loss.hpp"

namespace bp {
namespace {

// The classes are along this dimension.
std::int64_t class_dim_of(const Tensor& input) {
  return input.ndim() == 1 ? 0 : 1;
}

void check_classes(std::string_view op, const Tensor& input, const Tensor& target) {
  BP_CHECK(input.ndim() >= 1,
           "{}: input has shape {}; it is [C], [N, C] or [N, C, d1, ...], with C classes", op,
           to_string(input.shape()));
  BP_CHECK(is_integral(target.dtype()),
           "{}: target of shape {} is {} and input has shape {}; classes are int64: cast it", op,
           to_string(target.shape()), name(target.dtype()), to_string(input.shape()));
  Dims expected(input.shape());
  expected.erase(static_cast<std::size_t>(class_dim_of(input)));
  BP_CHECK(target.shape() == IntList(expected),
           "{}: input has shape {} and target {}; target has input's shape without the classes, {}",
           op, to_string(input.shape()), to_string(target.shape()), to_string(expected));
}

void check_weight(std::string_view op, const Tensor& input, const Tensor& weight) {
  if (!weight.defined()) return;
  const std::int64_t num_classes = input.size(class_dim_of(input));
  BP_CHECK(weight.ndim() == 1 && weight.numel() == num_classes,
           "{}: weight has shape {} and there are {} classes; give one weight for each", op,
           to_string(weight.shape()), num_classes);
}

// Weights of classes, seen along the classes of `input`.
Tensor along_classes(const Tensor& weight, const Tensor& input) {
  Dims shape(static_cast<std::uint32_t>(input.ndim()), 1);
  shape[static_cast<std::size_t>(class_dim_of(input))] = weight.numel();
  return reshape(weight, shape);
}

// What the targets choose.
struct Chosen {
  Tensor classes;  // 0 where a sample is ignored
  Tensor counts;   // bool: not ignored
  Tensor weight;   // of each sample; undefined where all are 1
};

Chosen choose(const Tensor& target, const Tensor& weight, std::int64_t ignore_index) {
  Chosen chosen;
  chosen.counts = ne(target, ignore_index);
  const bool is_index = target.dtype() == i64 || target.dtype() == i32;
  chosen.classes = where(chosen.counts, is_index ? target : cast(target, i64), 0);
  if (weight.defined())
    chosen.weight =
        reshape(gather(weight, 0, reshape(chosen.classes, {target.numel()})), target.shape());
  return chosen;
}

// The sum over what counts, and for 'mean' divided by its weight. Ignored ones are 0, whatever they hold.
Tensor reduce_chosen(const Chosen& chosen, const Tensor& loss, std::string_view reduction) {
  Tensor counted = where(chosen.counts, loss, 0);
  if (reduction == "none") return counted;
  if (reduction == "sum") return sum(counted);
  const Tensor weight = chosen.weight.defined() ? where(chosen.counts, chosen.weight, 0)
                                                : cast(chosen.counts, loss.dtype());
  return div(sum(counted), sum(weight));
}

Tensor likelihood_loss(const Chosen& chosen, const Tensor& input, std::string_view reduction) {
  const std::int64_t dim = class_dim_of(input);
  const Tensor picked = squeeze(gather(input, dim, unsqueeze(chosen.classes, dim)), dim);
  const Tensor loss = neg(picked);
  return reduce_chosen(chosen, chosen.weight.defined() ? mul(loss, chosen.weight) : loss,
                       reduction);
}

Tensor loss_of_probabilities(const Tensor& logs, const Tensor& target, const Tensor& weight,
                             std::string_view reduction, double label_smoothing) {
  const std::int64_t dim = class_dim_of(logs);
  const auto num_classes = static_cast<double>(logs.size(dim));
  Tensor wanted = target;
  if (label_smoothing != 0)
    wanted = add(mul(target, 1 - label_smoothing), label_smoothing / num_classes);
  Tensor terms = mul(wanted, logs);
  if (weight.defined()) terms = mul(terms, along_classes(weight, logs));
  if (reduction == "none") return neg(sum(terms, dim));
  const Tensor total = neg(sum(terms));
  return reduction == "sum" ? total : div(total, static_cast<double>(logs.numel()) / num_classes);
}

}  // namespace

Tensor negative_log_likelihood(const Tensor& input, const Tensor& target, const Tensor& weight,
                               std::int64_t ignore_index, std::string_view reduction) {
  check_reduction("nll_loss", reduction);
  check_classes("nll_loss", input, target);
  check_weight("nll_loss", input, weight);
  return likelihood_loss(choose(target, weight, ignore_index), input, reduction);
}

Tensor cross_entropy_by_logs(const Tensor& input, const Tensor& target, const Tensor& weight,
                             std::int64_t ignore_index, std::string_view reduction,
                             double label_smoothing) {
  constexpr const char* op = "cross_entropy";
  check_reduction(op, reduction);
  BP_CHECK(label_smoothing >= 0 && label_smoothing <= 1,
           "cross_entropy: label_smoothing is {}; pass a number from 0 to 1", label_smoothing);
  const bool has_classes = !is_floating(target.dtype()) || target.shape() != input.shape();
  if (has_classes) check_classes(op, input, target);
  check_weight(op, input, weight);
  const std::int64_t dim = class_dim_of(input);
  const Tensor logs = log_softmax(input, dim);
  if (!has_classes) return loss_of_probabilities(logs, target, weight, reduction, label_smoothing);
  const Chosen chosen = choose(target, weight, ignore_index);
  Tensor loss = likelihood_loss(chosen, logs, reduction);
  if (label_smoothing == 0) return loss;
  const Tensor terms = weight.defined() ? mul(logs, along_classes(weight, logs)) : logs;
  const Tensor smooth = reduce_chosen(chosen, neg(sum(terms, dim)), reduction);
  const double part = label_smoothing / static_cast<double>(input.size(dim));
  return add(mul(loss, 1 - label_smoothing), mul(smooth, part));
}

}  // namespace bp
