// Attention by whole matrices of scores, [b, h, l, s]; what is computed with them is float32 for 16-bit floats.
#include "decompositions/attention.hpp"

#include <cmath>
#include <limits>

#include <backplane/core_ops/operators.hpp>
#include <backplane/tensor/check.hpp>

#include "rules/decompositions.hpp"

namespace bp {
namespace {

constexpr double score_limit = std::numeric_limits<double>::infinity();

// The heads of key or value, each as often as queries' heads share it.
Tensor shared_heads(const Tensor& input, std::int64_t num_heads) {
  const std::int64_t own = input.shape()[1];
  if (own == num_heads) return input;
  Dims shape(input.shape()), each(input.shape());
  shape[1] = num_heads;
  each.insert(2, num_heads / own);
  return reshape(expand(unsqueeze(input, 2), each), shape);
}
// Back from there: the sum over those that shared.
Tensor summed_heads(const Tensor& input, std::int64_t own) {
  const std::int64_t num_heads = input.shape()[1];
  if (own == num_heads) return input;
  Dims shape(input.shape());
  shape[1] = own;
  shape.insert(2, num_heads / own);
  return sum(reshape(input, shape), 2);
}

Tensor causal_mask(const Tensor& scores) {
  const std::int64_t rows = scores.size(-2), columns = scores.size(-1);
  const Tensor row = arange(0, rows, 1, i64, scores.device());
  return ge(unsqueeze(row, 1), arange(0, columns, 1, i64, scores.device()));
}

// What a rule checks of the others.
void check_for_mask(const Tensor& query, const Tensor& key, const Tensor& value) {
  for (const Tensor* input : {&query, &key, &value})
    BP_CHECK(input->ndim() == 4,
             "attention_mask_backward: shape {} has {} dimensions; give query, key and value 4",
             to_string(input->shape()), input->ndim());
  const std::int64_t heads = query.size(1), own = key.size(1);
  BP_CHECK(own == value.size(1) && (own == 0 ? heads == 0 : heads % own == 0),
           "attention_mask_backward: query of shape {}, key of shape {} and value of shape {} do "
           "not fit; query's heads must be a multiple of key's, which are value's",
           to_string(query.shape()), to_string(key.shape()), to_string(value.shape()));
}

// What softmax is taken of; key's heads are those of query here.
Tensor masked_scores(const Tensor& query, const Tensor& key, const Tensor& attn_mask,
                     bool is_causal, double scale) {
  Tensor scores = mul(matmul(query, transpose(key, -1, -2)), scale);
  if (attn_mask.defined())
    scores = attn_mask.dtype() == boolean ? where(attn_mask, scores, -score_limit)
                                          : add(scores, widened(attn_mask));
  return is_causal ? where(causal_mask(scores), scores, -score_limit) : scores;
}

// Softmax in which a row without a finite score gives zeros, and its logsumexp, inf for such a row.
struct Weights {
  Tensor weights, logsumexp;
};
Weights weights_of(const Tensor& scores) {
  const Tensor largest = max(scores, -1, true);
  const Tensor shift = where(eq(largest, -score_limit), 0, largest);
  const Tensor terms = exp(sub(scores, shift));
  const Tensor total = sum(terms, -1, true);
  const Tensor is_empty = eq(total, 0);
  const Tensor logarithm = add(shift, log(total));
  return {div(terms, where(is_empty, 1, total)),
          squeeze(where(is_empty, score_limit, logarithm), -1)};
}

// The gradient by the scores, and what it is made of.
struct BackThroughScores {
  Tensor grad, query, key, weights, by_scores;
};
BackThroughScores back_through_scores(const Tensor& grad, const Tensor& grad_logsumexp,
                                      const Tensor& query, const Tensor& key, const Tensor& value,
                                      const Tensor& attn_mask, const Tensor& result,
                                      const Tensor& logsumexp, bool is_causal, double scale) {
  const std::int64_t num_heads = query.shape()[1];
  BackThroughScores back{
      widened(grad), widened(query), shared_heads(widened(key), num_heads), {}, {}};
  const Tensor scores = masked_scores(back.query, back.key, attn_mask, is_causal, scale);
  back.weights = exp(sub(scores, unsqueeze(logsumexp, -1)));
  Tensor shift = sum(mul(back.grad, widened(result)), -1, true);
  if (grad_logsumexp.defined()) shift = sub(shift, unsqueeze(grad_logsumexp, -1));
  const Tensor values = shared_heads(widened(value), num_heads);
  const Tensor by_weights = matmul(back.grad, transpose(values, -1, -2));
  back.by_scores = mul(back.weights, sub(by_weights, shift));
  return back;
}

// ---- From any rank to [b, h, ...]

constexpr const char* op_name = "scaled_dot_product_attention";

Dims leading(const Tensor& input) {
  return Dims(IntList(input.shape().data(), input.shape().size() - 2));
}

// The last two dimensions of `input` behind `lead`, as [b, h, ., .].
Tensor with_two_leading(const Tensor& input, const Dims& lead) {
  Dims wide(lead);
  wide.push_back(input.size(-2));
  wide.push_back(input.size(-1));
  Tensor all = input.shape() == IntList(wide) ? input : expand(input, wide);
  if (lead.size() == 2) return all;
  Dims shape{1, 1, input.size(-2), input.size(-1)};
  for (std::size_t i = 0; i < lead.size(); ++i) shape[i + 1 == lead.size() ? 1 : 0] *= lead[i];
  return reshape(all, shape);
}

struct Leads {
  Dims query, key;
};
Leads leads_of(const Tensor& query, const Tensor& key, const Tensor& value, bool enable_gqa) {
  for (const Tensor* input : {&query, &key, &value})
    BP_CHECK(input->ndim() >= 2, "{}: shape {} has too few dimensions; give [..., length, size]",
             op_name, to_string(input->shape()));
  Dims of_query = leading(query);
  Dims of_key = broadcast_shapes(op_name, leading(key), leading(value));
  if (!enable_gqa) {
    of_query = broadcast_shapes(op_name, of_query, of_key);
    return {of_query, of_query};
  }
  BP_CHECK(!of_query.empty() && !of_key.empty() && of_key.back() != 0 &&
               of_query.back() % of_key.back() == 0,
           "{}: query of shape {} and key of shape {} with enable_gqa; query's heads, the third "
           "last dimension, must be a multiple of key's",
           op_name, to_string(query.shape()), to_string(key.shape()));
  const std::int64_t query_heads = of_query.back(), key_heads = of_key.back();
  of_query.back() = of_key.back() = 1;
  of_query = broadcast_shapes(op_name, of_query, of_key);
  of_key = of_query;
  of_query.back() = query_heads;
  of_key.back() = key_heads;
  return {of_query, of_key};
}

Tensor attention_with_dropout(const Tensor& query, const Tensor& key, const Tensor& value,
                              const Tensor& attn_mask, double dropout_p, bool is_causal,
                              double scale) {
  const std::int64_t num_heads = query.shape()[1];
  const Tensor scores = masked_scores(widened(query), shared_heads(widened(key), num_heads),
                                      attn_mask, is_causal, scale);
  const Tensor weights = dropout(weights_of(scores).weights, dropout_p, true);
  const Tensor result = matmul(weights, shared_heads(widened(value), num_heads));
  return in_dtype(result, query.dtype());
}

}  // namespace

Tensor attention_of_any_rank(const Tensor& query, const Tensor& key, const Tensor& value,
                             const Tensor& attn_mask, double dropout_p, bool is_causal,
                             std::optional<double> scale, bool enable_gqa) {
  BP_CHECK(!attn_mask.defined() || !is_causal,
           "{}: both attn_mask and is_causal are given; put the causal part into the mask",
           op_name);
  const Leads leads = leads_of(query, key, value, enable_gqa);
  const Tensor q = with_two_leading(query, leads.query), k = with_two_leading(key, leads.key),
               v = with_two_leading(value, leads.key);
  Dims shape(leads.query);
  shape.push_back(query.size(-2));
  shape.push_back(value.size(-1));
  if (key.size(-2) == 0) return expand(mul(sum(q, -1, true), 0), shape);
  Tensor mask;
  if (attn_mask.defined()) {
    Dims each(leads.query);
    each.push_back(query.size(-2));
    each.push_back(key.size(-2));
    mask = with_two_leading(expand(attn_mask, each), leads.query);
  }
  const double factor = scale ? *scale : 1 / std::sqrt(static_cast<double>(query.size(-1)));
  const Tensor result = dropout_p != 0
                            ? attention_with_dropout(q, k, v, mask, dropout_p, is_causal, factor)
                            : native_attention(q, k, v, mask, is_causal, factor).result;
  return leads.query.size() == 2 ? result : reshape(result, shape);
}

NativeAttentionResult attention_by_softmax(const Tensor& query, const Tensor& key,
                                           const Tensor& value, const Tensor& attn_mask,
                                           bool is_causal, double scale) {
  const std::int64_t num_heads = query.shape()[1];
  const Tensor scores = masked_scores(widened(query), shared_heads(widened(key), num_heads),
                                      attn_mask, is_causal, scale);
  Weights parts = weights_of(scores);
  const Tensor result = matmul(parts.weights, shared_heads(widened(value), num_heads));
  return {in_dtype(result, query.dtype()), std::move(parts.logsumexp)};
}

AttentionBackwardResult attention_backward_by_products(
    const Tensor& grad, const Tensor& grad_logsumexp, const Tensor& query, const Tensor& key,
    const Tensor& value, const Tensor& attn_mask, const Tensor& result, const Tensor& logsumexp,
    bool is_causal, double scale) {
  const BackThroughScores back = back_through_scores(
      grad, grad_logsumexp, query, key, value, attn_mask, result, logsumexp, is_causal, scale);
  const std::int64_t own = key.shape()[1];
  const Dtype dtype = query.dtype();
  const Tensor by_products = mul(back.by_scores, scale);
  const Tensor by_key = matmul(transpose(by_products, -1, -2), back.query);
  const Tensor by_value = matmul(transpose(back.weights, -1, -2), back.grad);
  return {in_dtype(matmul(by_products, back.key), dtype),
          in_dtype(summed_heads(by_key, own), dtype), in_dtype(summed_heads(by_value, own), dtype)};
}

Tensor attention_mask_backward_by_products(const Tensor& grad, const Tensor& grad_logsumexp,
                                           const Tensor& query, const Tensor& key,
                                           const Tensor& value, const Tensor& attn_mask,
                                           const Tensor& result, const Tensor& logsumexp,
                                           bool is_causal, double scale) {
  check_for_mask(query, key, value);
  return in_dtype(back_through_scores(grad, grad_logsumexp, query, key, value, attn_mask, result,
                                      logsumexp, is_causal, scale)
                      .by_scores,
                  query.dtype());
}

}  // namespace bp
