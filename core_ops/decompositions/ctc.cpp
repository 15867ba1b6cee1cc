// A. Graves et al., "Connectionist Temporal Classification", ICML 2006: a target of L labels is emitted by 2 L + 1 states,
// blanks around labels, and the probabilities of all ways through them are summed, in logarithms, step by step.
#include "decompositions/ctc.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include <backplane/tensor/check.hpp>

#include "decompositions/loss.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

// The logarithm of no chance: finite, so that no difference of two is NaN, and far below any that is one.
constexpr double no_chance = -1e30, least_chance = -1e29;

struct Alignments {
  Tensor states;        // [N, states]: the class that each emits
  Tensor may_skip;      // [N, states]: may be entered from two states before
  Tensor may_end;       // [N, states]
  Tensor emitted;       // [steps, N, states]: logarithms of chances
  Tensor steps;         // [N, 1]: input_lengths
  Tensor label_counts;  // [N, 1]: target_lengths
  std::int64_t num_steps, batch, num_states;
};

Tensor numbers_below(std::int64_t end, const Tensor& like) {
  return arange(0, end, 1, i64, like.device());
}

// [N, 1]; a length past `most` is an index out of range.
Tensor lengths_up_to(std::int64_t most, const Tensor& lengths, const Tensor& like) {
  return reshape(index_select(numbers_below(most + 1, like), 0, reshape(lengths, {-1})), {-1, 1});
}

void check_lengths(const char* op, const char* which, const Tensor& lengths, std::int64_t batch) {
  BP_CHECK(lengths.ndim() <= 1 && lengths.numel() == batch && is_integral(lengths.dtype()),
           "{}: {} is {} of shape {}; pass {} whole numbers", op, which, name(lengths.dtype()),
           to_string(lengths.shape()), batch);
}

// [N, columns]: the labels of each target from its beginning.
Tensor labels_in_rows(const Tensor& targets, const Tensor& counts, std::int64_t columns) {
  const Tensor whole = in_dtype(targets, i64);
  if (targets.ndim() == 2) return narrow(whole, 1, 0, columns);
  const Tensor begins = sub(cumsum(counts, 0), counts);
  const Tensor places =
      clamp_max(add(begins, numbers_below(columns, targets)), targets.numel() - 1);
  return reshape(index_select(whole, 0, reshape(places, {-1})), places.shape());
}

// [N, 2 * labels + 1]: blank, label, blank, label ... blank. Behind a target's end are blanks.
Tensor states_of(const Tensor& targets, const Tensor& counts, std::int64_t columns,
                 std::int64_t blank) {
  const std::int64_t batch = counts.size(0);
  const Tensor blanks = full({batch, columns}, blank, i64, targets.device());
  if (columns == 0) return full({batch, 1}, blank, i64, targets.device());
  const Tensor is_label = lt(numbers_below(columns, targets), counts);
  const Tensor labels = where(is_label, labels_in_rows(targets, counts, columns), blanks);
  return constant_pad_nd(reshape(stack({blanks, labels}, 2), {batch, 2 * columns}), {0, 1}, blank);
}

// A target that has more labels than there are steps cannot be emitted: no state for it may end.
Alignments alignments_of(const char* op, const Tensor& log_probs, const Tensor& targets,
                         const Tensor& input_lengths, const Tensor& target_lengths,
                         std::int64_t blank) {
  const std::int64_t num_steps = log_probs.size(0), batch = log_probs.size(1);
  const std::int64_t classes = log_probs.size(2);
  BP_CHECK(blank >= 0 && blank < classes, "{}: blank is {} of {} classes; pass one of them", op,
           blank, classes);
  BP_CHECK(is_integral(targets.dtype()) &&
               (targets.ndim() == 1 || (targets.ndim() == 2 && targets.size(0) == batch)),
           "{}: targets are {} of shape {} for a batch of {}; pass whole numbers, [N, labels] or "
           "all in a row",
           op, name(targets.dtype()), to_string(targets.shape()), batch);
  check_lengths(op, "input_lengths", input_lengths, batch);
  check_lengths(op, "target_lengths", target_lengths, batch);
  const std::int64_t given = targets.size(-1), columns = std::min(given, num_steps);
  Alignments all;
  all.num_steps = num_steps;
  all.batch = batch;
  all.num_states = 2 * columns + 1;
  all.steps = lengths_up_to(num_steps, input_lengths, log_probs);
  all.label_counts = lengths_up_to(given, target_lengths, log_probs);
  all.states = states_of(targets, all.label_counts, columns, blank);
  const Tensor before = narrow(constant_pad_nd(all.states, {2, 0}, blank), 1, 0, all.num_states);
  all.may_skip = ne(all.states, before);  // from label to label, unless they are equal
  const Tensor number = numbers_below(all.num_states, log_probs), last = mul(all.label_counts, 2);
  all.may_end = logical_or(eq(number, last), eq(number, sub(last, 1)));
  const Dims shape{num_steps, batch, all.num_states};
  all.emitted =
      clamp_min(gather(widened(log_probs), 2, expand(unsqueeze(all.states, 0), shape)), no_chance);
  return all;
}

// The chances that the steps so far led to each state, after each step from none on: steps + 1 of [N, states].
std::vector<Tensor> chances_before(const Alignments& all) {
  const Tensor is_first = eq(numbers_below(all.num_states, all.states), 0);
  const Tensor none =
      full({all.batch, all.num_states}, no_chance, all.emitted.dtype(), all.emitted.device());
  std::vector<Tensor> chances{where(is_first, 0, none)};
  if (none.device() == meta_device) return chances;  // nothing to walk
  for (std::int64_t step = 0; step < all.num_steps; ++step) {
    const Tensor& last = chances.back();
    const Tensor padded = constant_pad_nd(last, {2, 0}, no_chance);
    const Tensor from_two = where(all.may_skip, narrow(padded, 1, 0, all.num_states), no_chance);
    const Tensor entered =
        logaddexp(logaddexp(last, narrow(padded, 1, 1, all.num_states)), from_two);
    chances.push_back(where(gt(all.steps, step), add(entered, select(all.emitted, 0, step)), last));
  }
  return chances;
}

// The chances that what follows each step leads from each state to an end, for each step.
std::vector<Tensor> chances_behind(const Alignments& all) {
  const Tensor none =
      full({all.batch, all.num_states}, no_chance, all.emitted.dtype(), all.emitted.device());
  std::vector<Tensor> chances(static_cast<std::size_t>(all.num_steps));
  chances.back() = where(all.may_end, 0, none);
  for (std::int64_t step = all.num_steps - 1; step > 0; --step) {
    const Tensor& last = chances[static_cast<std::size_t>(step)];
    const Tensor there = add(last, select(all.emitted, 0, step));
    const Tensor skipped = where(all.may_skip, there, no_chance);
    const Tensor to_one = narrow(constant_pad_nd(there, {0, 1}, no_chance), 1, 1, all.num_states);
    const Tensor to_two = narrow(constant_pad_nd(skipped, {0, 2}, no_chance), 1, 2, all.num_states);
    chances[static_cast<std::size_t>(step - 1)] =
        where(gt(all.steps, step), logaddexp(logaddexp(there, to_one), to_two), last);
  }
  return chances;
}

// [N, 1]
Tensor chance_of_ends(const Alignments& all, const Tensor& chances) {
  return logsumexp(where(all.may_end, chances, no_chance), {1}, true);
}

// Without a batch: one of 1.
Tensor with_one_batch(const char* op, const Tensor& log_probs) {
  BP_CHECK(log_probs.ndim() == 2 || log_probs.ndim() == 3,
           "{}: log_probs has shape {}; pass [steps, N, classes] or [steps, classes]", op,
           to_string(log_probs.shape()));
  return log_probs.ndim() == 3 ? log_probs : unsqueeze(log_probs, 1);
}

// A row's target of one sequence, [labels], is a batch of 1 as well.
Tensor targets_of_batch(const Tensor& log_probs, const Tensor& targets) {
  return log_probs.ndim() == 2 && targets.ndim() == 1 ? unsqueeze(targets, 0) : targets;
}

// [N]: what a mean divides each loss by, beside their number.
Tensor weights_of_means(const Alignments& all) {
  return in_dtype(reshape(clamp_min(all.label_counts, 1), {all.batch}), all.emitted.dtype());
}

}  // namespace

Tensor loss_of_alignments(const Tensor& log_probs, const Tensor& targets,
                          const Tensor& input_lengths, const Tensor& target_lengths,
                          std::int64_t blank, std::string_view reduction, bool zero_infinity) {
  check_reduction("ctc_loss", reduction);
  const Alignments all =
      alignments_of("ctc_loss", with_one_batch("ctc_loss", log_probs),
                    targets_of_batch(log_probs, targets), input_lengths, target_lengths, blank);
  const Tensor chance = reshape(chance_of_ends(all, chances_before(all).back()), {all.batch});
  const double never = zero_infinity ? 0 : std::numeric_limits<double>::infinity();
  const Tensor loss = where(lt(chance, least_chance), never, neg(chance));
  const Tensor each = reduction == "mean" ? div(loss, weights_of_means(all)) : loss;
  const Tensor result = reduced_loss("ctc_loss", each, reduction);
  const bool is_one = log_probs.ndim() == 2 && reduction == "none";
  return in_dtype(is_one ? reshape(result, {}) : result, log_probs.dtype());
}

// What a step's chance of a class is worth: the part of all ways that emit it there.
Tensor gradient_of_alignments(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                              const Tensor& input_lengths, const Tensor& target_lengths,
                              std::int64_t blank, std::string_view reduction, bool zero_infinity) {
  constexpr const char* op = "ctc_loss_backward";
  check_reduction(op, reduction);
  const Tensor probs = with_one_batch(op, log_probs);
  const Alignments all = alignments_of(op, probs, targets_of_batch(log_probs, targets),
                                       input_lengths, target_lengths, blank);
  const Tensor none = full(probs.shape(), 0, all.emitted.dtype(), probs.device());
  if (probs.numel() == 0 || probs.device() == meta_device)
    return in_dtype(reshape(none, log_probs.shape()), log_probs.dtype());
  std::vector<Tensor> before = chances_before(all);
  const Tensor chance = chance_of_ends(all, before.back());
  before.erase(before.begin());
  const Tensor ways = sub(add(stack(before, 0), stack(chances_behind(all), 0)), chance);
  const Tensor number = reshape(numbers_below(all.num_steps, probs), {all.num_steps, 1, 1});
  const Tensor is_step = gt(all.steps, number);
  const Tensor never = lt(chance, least_chance);
  const Tensor counts = logical_and(is_step, logical_not(never));
  const Tensor parts = where(counts, exp(where(counts, ways, 0)), 0);
  const Tensor places = expand(unsqueeze(all.states, 0), parts.shape());
  Tensor worth = neg(scatter_add(none, 2, places, parts));
  if (!zero_infinity)
    worth = where(logical_and(is_step, never), std::numeric_limits<double>::quiet_NaN(), worth);
  Tensor weight = reshape(in_dtype(grad, none.dtype()), {-1, 1});
  if (reduction == "mean")
    weight = div(weight, mul(reshape(weights_of_means(all), {-1, 1}), all.batch));
  return in_dtype(reshape(mul(worth, weight), log_probs.shape()), log_probs.dtype());
}

}  // namespace bp
