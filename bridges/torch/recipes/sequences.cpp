// Bags of rows, runs of equal elements, losses of sequences.
#include "recipes/helpers.hpp"

namespace bp::bridge {
namespace {

constexpr std::string_view bag_modes[] = {"sum", "mean", "max"};
constexpr std::int64_t mean_mode = 1, max_mode = 2;

// Of each bag and column, the row of `weight` that holds the maximum: the first of equal ones.
Tensor rows_of_maxima(const Tensor& weight, const Tensor& places, const Tensor& output,
                      const Tensor& bag_of, const Tensor& counts) {
  const std::int64_t count = places.numel();
  if (count == 0) return zeros(output.shape(), i64, output.device());
  const Tensor numbers = unsqueeze(arange(0, count, 1, i64, weight.device()), 1);
  const Tensor is_maximum = logical_and(
      index_select(weight, 0, places) == index_select(output, 0, bag_of), unsqueeze(counts, 1));
  const Tensor candidates = where(is_maximum, numbers, count);
  const Tensor first =
      scatter_reduce(full(output.shape(), count, i64, output.device()), 0,
                     expand(unsqueeze(bag_of, 1), candidates.shape()), candidates, "amin");
  return reshape(index_select(places, 0, flatten(clamp_max(first, count - 1))), output.shape());
}

}  // namespace

std::array<Tensor, 4> bags(const Tensor& weight, const Tensor& indices, const Tensor& offsets,
                           std::int64_t mode, const Tensor& sample_weights,
                           bool include_last_offset, std::int64_t padding_idx) {
  const Device device = weight.device();
  const Tensor places = cast(indices, i64), begins = cast(offsets, i64);
  const std::int64_t num_bags = offsets.numel() - (include_last_offset ? 1 : 0);
  const Tensor output = embedding_bag(places, weight, begins, bag_modes[mode], sample_weights,
                                      include_last_offset, padding_idx);
  const Tensor numbers = arange(0, places.numel(), 1, i64, device);
  const Tensor bag_of = searchsorted(narrow(begins, 0, 0, num_bags), numbers, false, true) - 1;
  const Tensor counts =
      padding_idx < 0 ? full({places.numel()}, true, boolean, device) : places != padding_idx;
  const Tensor sizes = index_add(zeros({num_bags}, i64, device), 0, bag_of, cast(counts, i64));
  const Tensor maxima = mode == max_mode ? rows_of_maxima(weight, places, output, bag_of, counts)
                                         : zeros({0}, i64, device);
  return {output, cast(bag_of, indices.dtype()), cast(sizes, indices.dtype()),
          cast(maxima, indices.dtype())};
}

Tensor bags_gradient(const Tensor& grad, const Tensor& indices, const Tensor& bag_of,
                     const Tensor& bag_sizes, const Tensor& maxima, std::int64_t num_weights,
                     bool by_frequency, std::int64_t mode, const Tensor& sample_weights,
                     std::int64_t padding_idx) {
  const Tensor sizes = unsqueeze(cast(bag_sizes, i64), 1);
  if (mode == max_mode)
    return scatter_add(zeros({num_weights, grad.size(1)}, grad.dtype(), grad.device()), 0,
                       cast(maxima, i64), where(sizes > 0, grad, 0));
  const Tensor shares = mode == mean_mode ? grad / cast(clamp_min(sizes, 1), grad.dtype()) : grad;
  Tensor rows = index_select(shares, 0, cast(bag_of, i64));
  if (sample_weights.defined()) rows = rows * unsqueeze(sample_weights, 1);
  return embedding_gradient(rows, indices, num_weights, padding_idx, by_frequency);
}

Triple runs_of_equals(const Tensor& input, std::optional<std::int64_t> dim) {
  const std::int64_t at = dim ? wrapped(*dim, input.ndim()) : 0;
  const Tensor data = dim ? movedim(input, {at}, {0}) : flatten(input);
  const std::int64_t count = data.size(0);
  const Device device = input.device();
  if (data.numel() == 0) refuse("unique_consecutive", "a tensor without elements");
  const Tensor rows = reshape(data, {count, data.numel() / count});
  const Tensor differs = any(narrow(rows, 0, 1, count - 1) != narrow(rows, 0, 0, count - 1), 1);
  const Tensor begins = cat({full({1}, true, boolean, device), differs}, 0);
  const Tensor places = flatten(nonzero(begins));
  const Tensor ends =
      cat({narrow(places, 0, 1, places.numel() - 1), full({1}, count, i64, device)}, 0);
  const Tensor inverse = cumsum(cast(begins, i64), 0) - 1;
  return {index_select(dim ? input : data, at, places),
          dim ? inverse : reshape(inverse, input.shape()), ends - places};
}

Tensor as_tensor(IntList numbers, const Tensor& like) {
  return tensor(std::vector<std::int64_t>(numbers.begin(), numbers.end()),
                {.device = like.device()});
}

// The second result is what PyTorch's own derivative needs; ours computes it once more.
Pair sequence_losses(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                     const Tensor& target_lengths, std::int64_t blank) {
  return {ctc_loss(log_probs, cast(targets, i64), cast(input_lengths, i64),
                   cast(target_lengths, i64), blank, "none", false),
          zeros({0}, log_probs.dtype(), log_probs.device())};
}

// PyTorch's has a term more than ours, exp(log_probs), which log_softmax cancels.
Tensor sequence_gradients(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                          const Tensor& input_lengths, const Tensor& target_lengths,
                          const Tensor& losses, std::int64_t blank, bool zero_infinity) {
  const Tensor lengths = cast(input_lengths, i64);
  const Tensor steps = arange(0, log_probs.size(0), 1, i64, log_probs.device());
  Tensor counts = unsqueeze(unsqueeze(steps, 1) < unsqueeze(lengths, 0), 2);
  if (zero_infinity)
    counts = logical_and(counts, reshape(logical_not(isinf(losses)), {1, losses.numel(), 1}));
  const Tensor ours = ctc_loss_backward(grad, log_probs, cast(targets, i64), lengths,
                                        cast(target_lengths, i64), blank, "none", zero_infinity);
  return ours + where(counts, exp(log_probs) * reshape(grad, {1, grad.numel(), 1}), 0);
}

}  // namespace bp::bridge
