#include "recipes/attention.hpp"

#include <backplane/dispatcher/chain.hpp>

namespace bp::bridge {
namespace {

constexpr double no_score = -std::numeric_limits<double>::infinity();

Tensor turned(const Tensor& matrices) {
  return transpose(matrices, -2, -1);
}

// 0 where a word may look, -inf at those after it.
Tensor causal_bias(const Tensor& scores) {
  const Tensor all = ones({scores.size(-2), scores.size(-1)}, boolean, scores.device());
  return where(tril(all), zeros({}, scores.dtype(), scores.device()), no_score);
}

// scores * scale + bias, in one pass where the device has a kernel for the chain.
Tensor scaled_and_biased(const Tensor& scores, double scale, const Tensor& bias) {
  static const ChainStep steps[] = {
      {find_operator("mul"), {ChainInput::argument(0), ChainInput::number_argument(2)}},
      {find_operator("add"), {ChainInput::step(0), ChainInput::argument(1)}}};
  static const Chain& chain = *new Chain(join(steps));  // held as long as the process
  const Scalar factor(scale);
  bp_value args[] = {value_of(scores), value_of(bias), value_of(factor)};
  return call_chain(chain, args, 3);
}

double scale_of_kept(double dropped) {
  return dropped < 1 ? 1 / (1 - dropped) : 0.0;
}

}  // namespace

DroppedAttention attention_with_dropout(const Heads& heads, const Tensor& bias, double dropped,
                                        bool is_causal, double scale) {
  DroppedAttention all;
  Tensor scores = matmul(heads.query, turned(heads.key)), is_blind;
  if (bias.defined()) {
    is_blind = max(bias, -1, true) == no_score;  // softmax would make NaN of such a row
    scores = scaled_and_biased(scores, scale, where(is_blind, 0, bias));
  } else {
    scores = scores * scale;
  }
  if (is_causal) scores = scores + causal_bias(scores);
  all.scores = softmax(scores, -1);
  all.kept = uniform_like(all.scores, nullptr) >= dropped;
  if (bias.defined()) all.kept = logical_and(all.kept, logical_not(is_blind));
  const Tensor weights = masked_and_scaled(all.scores, all.kept, scale_of_kept(dropped));
  all.result = matmul(weights, heads.value);
  return all;
}

Triple attention_with_dropout_gradients(const Tensor& grad, const Heads& heads,
                                        const DroppedAttention& attention, double dropped,
                                        double scale) {
  const double kept_scale = scale_of_kept(dropped);
  const Tensor weights = masked_and_scaled(attention.scores, attention.kept, kept_scale);
  const Tensor by_weights = matmul(grad, turned(heads.value));
  const Tensor by_softmax = masked_and_scaled(by_weights, attention.kept, kept_scale);
  const Tensor by_scores = derivative_by_result("softmax", by_softmax, attention.scores,
                                                std::int64_t{-1}, std::optional<Dtype>());
  return {matmul(by_scores, heads.key) * scale, matmul(turned(by_scores), heads.query) * scale,
          matmul(turned(weights), grad)};
}

}  // namespace bp::bridge
