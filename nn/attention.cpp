#include <cmath>
#include <limits>

#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/operators.hpp>
#include <backplane/nn/attention.hpp>
#include <backplane/nn/init.hpp>
#include <backplane/tensor/check.hpp>

#include "initial.hpp"

namespace bp::nn {
namespace {

Parameter xavier(IntList shape, const MultiheadAttentionOptions& options) {
  Parameter weight(empty(shape, options.dtype, options.device));
  init::xavier_uniform_(weight);
  return weight;
}

// Numbers to add to scores: a bool mask hides where it is true.
Tensor additive(const char* name, const Tensor& mask, Dtype dtype) {
  if (!mask.defined()) return mask;
  BP_CHECK(mask.dtype() == boolean || is_floating(mask.dtype()),
           "MultiheadAttention: {} is {}; pass bools, or numbers to add", name,
           bp::name(mask.dtype()));
  if (mask.dtype() != boolean) return cast(mask, dtype);
  return masked_fill(zeros(mask.shape(), dtype, mask.device()), mask,
                     -std::numeric_limits<double>::infinity());
}

// For one more key, which all see.
Tensor one_longer(const Tensor& mask) {
  return mask.defined() ? constant_pad_nd(mask, {0, 1}) : mask;
}

void check_shape(const char* name, const Tensor& mask, const std::vector<Dims>& fitting) {
  for (const Dims& shape : fitting)
    if (mask.shape() == IntList(shape)) return;
  BP_CHECK(false, "MultiheadAttention: {} has shape {}; pass one of {}", name,
           bp::to_string(mask.shape()), bp::to_string(IntList(fitting[0])));
}

}  // namespace

// Queries, keys and values by heads, [batch * num_heads, length, head_dim], and what is added to their scores.
struct MultiheadAttention::Heads {
  Tensor query, key, value, mask;
  std::int64_t queries, batch;
};

MultiheadAttention::MultiheadAttention(std::int64_t embed_dim, std::int64_t num_heads,
                                       const MultiheadAttentionOptions& options)
    : out_proj(
          embed_dim, embed_dim,
          LinearOptions{.bias = options.bias, .dtype = options.dtype, .device = options.device}),
      embed_dim_(embed_dim), num_heads_(num_heads), options_(options) {
  BP_CHECK(embed_dim > 0 && num_heads > 0 && embed_dim % num_heads == 0,
           "MultiheadAttention: embed_dim {} is not divisible into {} heads; choose a divisor",
           embed_dim, num_heads);
  check_size("MultiheadAttention", "embed_dim", embed_dim);
  const std::int64_t kdim = options.kdim.value_or(embed_dim);
  const std::int64_t vdim = options.vdim.value_or(embed_dim);
  if (kdim == embed_dim && vdim == embed_dim) {
    in_proj_weight = xavier({3 * embed_dim, embed_dim}, options);
  } else {
    q_proj_weight = xavier({embed_dim, embed_dim}, options);
    k_proj_weight = xavier({embed_dim, kdim}, options);
    v_proj_weight = xavier({embed_dim, vdim}, options);
  }
  if (options.bias) {
    in_proj_bias = Parameter(zeros({3 * embed_dim}, options.dtype, options.device));
    init::zeros_(out_proj.bias);
  }
  if (options.add_bias_kv)
    for (Parameter* bias : {&bias_k, &bias_v}) {
      *bias = Parameter(empty({1, 1, embed_dim}, options.dtype, options.device));
      init::xavier_normal_(*bias);
    }
}

void MultiheadAttention::list_parts(Parts& parts) {
  parts.parameter("in_proj_weight", in_proj_weight);
  parts.parameter("q_proj_weight", q_proj_weight);
  parts.parameter("k_proj_weight", k_proj_weight);
  parts.parameter("v_proj_weight", v_proj_weight);
  parts.parameter("in_proj_bias", in_proj_bias);
  parts.parameter("bias_k", bias_k);
  parts.parameter("bias_v", bias_v);
  parts.module("out_proj", out_proj);
}

AttentionResult MultiheadAttention::operator()(const Tensor& query, const Tensor& key,
                                               const Tensor& value,
                                               const AttentionArguments& arguments) const {
  const std::vector<Tensor> results =
      call({query, key, value}, [&](const Module& self, std::span<const Tensor> in) {
        const auto& attention = static_cast<const MultiheadAttention&>(self);
        const AttentionResult result = attention.forward(in[0], in[1], in[2], arguments);
        return std::vector<Tensor>{result.output, result.weights};
      });
  return {results[0], results[1]};
}

std::vector<Tensor> MultiheadAttention::forward_all(std::span<const Tensor> inputs) const {
  BP_CHECK(inputs.size() == 3, "MultiheadAttention: got {} tensors; pass query, key and value",
           inputs.size());
  const AttentionResult result = forward(inputs[0], inputs[1], inputs[2]);
  return {result.output, result.weights};
}

// Of [length, batch, features].
MultiheadAttention::Heads MultiheadAttention::project(const Tensor& query, const Tensor& key,
                                                      const Tensor& value) const {
  const auto part = [&](const Tensor& all, std::int64_t first, std::int64_t count) {
    return all.defined() ? narrow(all, 0, first * embed_dim_, count * embed_dim_) : all;
  };
  Tensor q, k, v;
  if (q_proj_weight.defined()) {
    q = linear(query, q_proj_weight, part(in_proj_bias, 0, 1));
    k = linear(key, k_proj_weight, part(in_proj_bias, 1, 1));
    v = linear(value, v_proj_weight, part(in_proj_bias, 2, 1));
  } else if (query.is_same(key) && key.is_same(value)) {
    const std::vector<Tensor> all = chunk(linear(query, in_proj_weight, in_proj_bias), 3, -1);
    q = all[0], k = all[1], v = all[2];
  } else if (key.is_same(value)) {
    q = linear(query, part(in_proj_weight, 0, 1), part(in_proj_bias, 0, 1));
    const std::vector<Tensor> both =
        chunk(linear(key, part(in_proj_weight, 1, 2), part(in_proj_bias, 1, 2)), 2, -1);
    k = both[0], v = both[1];
  } else {
    q = linear(query, part(in_proj_weight, 0, 1), part(in_proj_bias, 0, 1));
    k = linear(key, part(in_proj_weight, 1, 1), part(in_proj_bias, 1, 1));
    v = linear(value, part(in_proj_weight, 2, 1), part(in_proj_bias, 2, 1));
  }
  const std::int64_t batch = query.size(1), size = embed_dim_ / num_heads_;
  if (bias_k.defined()) {
    k = cat({k, expand(bias_k, {1, batch, embed_dim_})});
    v = cat({v, expand(bias_v, {1, batch, embed_dim_})});
  }
  const auto by_head = [&](const Tensor& all) {
    return transpose(reshape(all, {all.size(0), batch * num_heads_, size}), 0, 1);
  };
  Heads heads{by_head(q), by_head(k), by_head(v), {}, query.size(0), batch};
  if (options_.add_zero_attn) {
    const Tensor zero = zeros({batch * num_heads_, 1, size}, q.dtype(), q.device());
    heads.key = cat({heads.key, zero}, 1);
    heads.value = cat({heads.value, zero}, 1);
  }
  return heads;
}

// What is added to the scores of [batch * num_heads, queries, keys]; undefined for nothing.
Tensor MultiheadAttention::mask_of(const AttentionArguments& arguments, const Heads& heads,
                                   std::int64_t keys) const {
  const Dtype dtype = heads.query.dtype();
  const std::int64_t rows = heads.batch * num_heads_;
  Tensor mask = additive("attn_mask", arguments.attn_mask, dtype);
  Tensor padding = additive("key_padding_mask", arguments.key_padding_mask, dtype);
  if (mask.defined()) {
    check_shape("attn_mask", mask, {{heads.queries, keys}, {rows, heads.queries, keys}});
    if (mask.ndim() == 2) mask = unsqueeze(mask, 0);
  }
  if (padding.defined()) {
    if (padding.ndim() == 1) padding = unsqueeze(padding, 0);
    check_shape("key_padding_mask", padding, {{heads.batch, keys}});
  }
  for (std::int64_t more = keys; more < heads.key.size(1); ++more) {
    mask = one_longer(mask);
    padding = one_longer(padding);
  }
  if (!padding.defined()) return mask;
  const std::int64_t longer = heads.key.size(1);
  padding =
      reshape(expand(unsqueeze(padding, 1), {heads.batch, num_heads_, longer}), {rows, 1, longer});
  return mask.defined() ? mask + padding : padding;
}

// The weights after dropout, as PyTorch gives them.
AttentionResult MultiheadAttention::weigh(const Heads& heads, double dropout_p) const {
  const Tensor query = heads.query * std::sqrt(1.0 / static_cast<double>(heads.query.size(2)));
  const Tensor key = transpose(heads.key, 1, 2);
  Tensor weights =
      softmax(heads.mask.defined() ? bmm(query, key) + heads.mask : bmm(query, key), -1);
  if (dropout_p > 0) weights = dropout(weights, dropout_p, true);
  return {transpose(bmm(weights, heads.value), 0, 1), weights};
}

AttentionResult MultiheadAttention::forward(const Tensor& query, const Tensor& key,
                                            const Tensor& value,
                                            const AttentionArguments& arguments) const {
  const bool is_batched = query.ndim() == 3;
  check_arguments(query, key, value, arguments);
  const auto steps_first = [&](const Tensor& one) {
    if (!is_batched) return unsqueeze(one, 1);
    return options_.batch_first ? transpose(one, 0, 1) : one;
  };
  // What was one tensor stays one, so that it is projected by one product.
  const Tensor q = steps_first(query);
  const Tensor k = key.is_same(query) ? q : steps_first(key);
  const Tensor v = value.is_same(key) ? k : steps_first(value);
  Heads heads = project(q, k, v);
  const bool by_flag =
      arguments.is_causal && !arguments.key_padding_mask.defined() && !arguments.need_weights;
  if (!by_flag) heads.mask = mask_of(arguments, heads, k.size(0));
  const double dropout_p = is_training() ? options_.dropout : 0;
  const std::int64_t batch = heads.batch, length = heads.key.size(1);
  AttentionResult result;
  if (arguments.need_weights) {
    result = weigh(heads, dropout_p);
    result.weights = reshape(result.weights, {batch, num_heads_, heads.queries, length});
    if (arguments.average_attn_weights) result.weights = mean(result.weights, 1);
    if (!is_batched) result.weights = squeeze(result.weights, 0);
  } else {
    const auto in_batch = [&](const Tensor& all) {
      return reshape(all, {batch, num_heads_, all.size(1), all.size(2)});
    };
    if (heads.mask.defined())
      heads.mask = heads.mask.size(0) == 1 ? unsqueeze(heads.mask, 0)
                                           : reshape(heads.mask, {batch, num_heads_, -1, length});
    const Tensor all =
        scaled_dot_product_attention(in_batch(heads.query), in_batch(heads.key),
                                     in_batch(heads.value), heads.mask, dropout_p, by_flag);
    result.output = permute(all, {2, 0, 1, 3});
  }
  result.output = out_proj(reshape(result.output, {heads.queries, batch, embed_dim_}));
  if (!is_batched) result.output = squeeze(result.output, 1);
  if (is_batched && options_.batch_first) result.output = transpose(result.output, 0, 1);
  return result;
}

void MultiheadAttention::check_arguments(const Tensor& query, const Tensor& key,
                                         const Tensor& value,
                                         const AttentionArguments& arguments) const {
  BP_CHECK((query.ndim() == 2 || query.ndim() == 3) && key.ndim() == query.ndim() &&
               value.ndim() == query.ndim(),
           "MultiheadAttention: query, key and value have {}, {} and {} dimensions; pass 3, or 2 "
           "without a batch",
           query.ndim(), key.ndim(), value.ndim());
  BP_CHECK(query.size(-1) == embed_dim_,
           "MultiheadAttention: the query has {} features and embed_dim is {}; make them equal",
           query.size(-1), embed_dim_);
  const std::int64_t kdim = options_.kdim.value_or(embed_dim_);
  const std::int64_t vdim = options_.vdim.value_or(embed_dim_);
  BP_CHECK(key.size(-1) == kdim && value.size(-1) == vdim,
           "MultiheadAttention: key and value have {} and {} features; {} and {} are expected",
           key.size(-1), value.size(-1), kdim, vdim);
  for (std::int64_t i = 0; i + 1 < key.ndim(); ++i)
    BP_CHECK(
        key.size(i) == value.size(i),
        "MultiheadAttention: key and value have shapes {} and {}; they may differ only in features",
        bp::to_string(key.shape()), bp::to_string(value.shape()));
  if (query.ndim() == 3) {
    const std::int64_t batch = options_.batch_first ? 0 : 1;
    BP_CHECK(key.size(batch) == query.size(batch),
             "MultiheadAttention: query and key have shapes {} and {}; dimension {}, the batch, "
             "must be the same",
             bp::to_string(query.shape()), bp::to_string(key.shape()), batch);
  }
  BP_CHECK(!arguments.is_causal || arguments.attn_mask.defined(),
           "MultiheadAttention: is_causal only describes attn_mask; pass attn_mask too");
}

}  // namespace bp::nn
