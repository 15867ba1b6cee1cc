// Attention, and the rotation of what goes into it.
#include <cmath>
#include <limits>

#include "networks.hpp"

namespace bp::onnx {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// [N, length, heads * size] as [N, heads, length, size].
Tensor by_heads(const Tensor& input, const std::optional<std::int64_t>& heads) {
  if (input.ndim() == 4) return input;
  if (!heads || *heads <= 0)
    throw Error(ErrorClass::bad_argument,
                "inputs of three dimensions need q_num_heads and kv_num_heads");
  return transpose(reshape(input, {input.size(0), input.size(1), *heads, input.size(2) / *heads}),
                   1, 2);
}

// 0 where the condition holds, else -inf.
Tensor as_bias(const Tensor& allowed, Dtype dtype) {
  const Tensor zero = zeros({}, {.dtype = dtype, .device = allowed.device()});
  return where(allowed, zero, number_like(zero, -infinity));
}

Tensor plus(const Tensor& bias, const Tensor& more) {
  return bias.defined() ? bias + more : more;
}

// What is added to the products; undefined: nothing.
Tensor bias_of(const AttentionTensors& given, const AttentionOptions& options, std::int64_t queries,
               std::int64_t keys, Dtype dtype) {
  const TensorOptions whole{.dtype = i64, .device = given.query.device()};
  Tensor bias;
  if (given.mask.defined()) {
    Tensor mask = given.mask.dtype() == boolean ? as_bias(given.mask, dtype) : given.mask;
    if (const std::int64_t missing = keys - mask.size(-1); missing > 0 && mask.size(-1) > 1)
      mask = constant_pad_nd(mask, {0, missing}, -infinity);
    bias = mask;
  }
  const Tensor places = arange(0, keys, 1, whole);
  Tensor lengths;
  if (given.num_keys.defined()) lengths = reshape(to(given.num_keys, i64), {-1, 1, 1, 1});
  if (options.is_causal) {
    Tensor last = reshape(arange(0, queries, 1, whole), {queries, 1});
    if (given.past_key.defined())
      last = last + given.past_key.size(2);
    else if (lengths.defined())
      last = last + lengths - queries;
    bias = plus(bias, as_bias(le(places, last), dtype));
  }
  if (lengths.defined()) bias = plus(bias, as_bias(lt(places, lengths), dtype));
  return bias;
}

}  // namespace

Tensors attended(const AttentionTensors& given, const AttentionOptions& options,
                 const NodeFacts& node) {
  const Tensor query = by_heads(given.query, options.query_heads);
  Tensor key = by_heads(given.key, options.key_heads),
         value = by_heads(given.value, options.key_heads);
  if (given.past_key.defined()) key = cat({given.past_key, key}, 2);
  if (given.past_value.defined()) value = cat({given.past_value, value}, 2);
  const Tensor present_key = key, present_value = value;
  const std::int64_t group = query.size(1) / key.size(1);
  if (group > 1) {
    key = repeat_interleave(key, group, 1);
    value = repeat_interleave(value, group, 1);
  }
  const std::int64_t queries = query.size(2), keys = key.size(2);
  const double factor =
      std::sqrt(options.scale.value_or(1 / std::sqrt(static_cast<double>(query.size(3)))));
  const Tensor bias = bias_of(given, options, queries, keys, query.dtype());
  Tensor products = matmul(query * factor, transpose(key, 2, 3) * factor);
  Tensor shown = products;
  if (options.softcap > 0) products = bp::tanh(products / options.softcap) * options.softcap;
  if (options.products == 1) shown = products;
  // The opset said first that 1 is with the bias and 2 with the cap; this is the order of versions 23 to 24 as they stand now.
  const Tensor scores = bias.defined() ? products + bias : products;
  if (options.products == 2) shown = scores;
  Tensor weights = softmax(scores, -1);
  if (bias.defined()) {
    // A query that may see nothing gets zeros.
    const Tensor blind = eq(max(bias, -1, true), -infinity);
    weights =
        where(blind, zeros({}, {.dtype = weights.dtype(), .device = weights.device()}), weights);
  }
  if (options.products == 3) shown = weights;
  Tensor result = matmul(weights, value);
  if (given.query.ndim() == 3)
    result = reshape(transpose(result, 1, 2), {result.size(0), queries, -1});
  Tensors all{result, present_key, present_value, shown};
  all.resize(std::max<std::size_t>(node.results.size(), 1));
  return all;
}

Tensors linearly_attended(const LinearAttentionTensors& given, std::int64_t query_heads,
                          std::int64_t key_heads, double scale) {
  if (key_heads <= 0 || query_heads % std::max<std::int64_t>(key_heads, 1) != 0)
    throw Error(ErrorClass::bad_argument, "q_num_heads is not a multiple of kv_num_heads");
  const Dtype dtype = given.query.dtype(), wide = dtype == f64 ? f64 : f32;
  const Tensor query = to(by_heads(given.query, query_heads), wide),
               key = to(by_heads(given.key, key_heads), wide),
               value = to(by_heads(given.value, key_heads), wide);
  const std::int64_t batch = query.size(0), steps = query.size(2), width = query.size(3);
  const Tensor decay =
      given.decay.defined() ? bp::exp(to(by_heads(given.decay, key_heads), wide)) : Tensor();
  const Tensor beta =
      given.beta.defined() ? to(by_heads(given.beta, given.beta.size(2)), wide) : Tensor();
  Tensor state = given.state.defined() ? to(given.state, wide)
                                       : zeros({batch, key_heads, width, value.size(3)},
                                               {.dtype = wide, .device = query.device()});
  const double factor = scale == 0 ? 1 / std::sqrt(static_cast<double>(width)) : scale;
  Tensors outputs;
  for (std::int64_t step = 0; step < steps; ++step) {
    const Tensor k = unsqueeze(select(key, 2, step), 3);  // [N, heads, width, 1]
    Tensor v = unsqueeze(select(value, 2, step), 2);      // [N, heads, 1, values]
    if (decay.defined()) state = state * unsqueeze(select(decay, 2, step), 3);
    if (beta.defined())
      v = unsqueeze(select(beta, 2, step), 2) * (v - matmul(transpose(k, 2, 3), state));
    state = state + k * v;
    const Tensor read =
        query_heads == key_heads ? state : repeat_interleave(state, query_heads / key_heads, 1);
    outputs.push_back(matmul(unsqueeze(select(query, 2, step), 2), read) * factor);
  }
  const Tensor all = cat(outputs, 2);  // [N, heads, steps, values]
  const Tensor result = reshape(transpose(all, 1, 2), {batch, steps, query_heads * value.size(3)});
  return {to(result, dtype), to(state, given.state.defined() ? given.state.dtype() : dtype)};
}

Tensors causally_convolved(const Tensor& input, const Tensor& weight, const Tensor& bias,
                           const Tensor& state, bool with_silu) {
  const std::int64_t before = weight.size(2) - 1;
  const Tensor padded =
      state.defined() ? cat({state, input}, 2) : constant_pad_nd(input, {before, 0});
  const Tensor result = conv1d(padded, weight, bias, {1}, {0}, {1}, input.size(1));
  return {with_silu ? silu(result) : result, narrow(padded, 2, padded.size(2) - before, before)};
}

Tensor rotated(const Tensor& input, const Tensor& cosines, const Tensor& sines,
               const Tensor& positions, bool interleaved, std::int64_t num_heads,
               std::int64_t rotary_dim) {
  const bool by_length = input.ndim() == 3;  // [N, length, heads * size]
  if (by_length && num_heads <= 0)
    throw Error(ErrorClass::bad_argument, "an input of three dimensions needs num_heads");
  const Tensor data = by_length ? reshape(input, {input.size(0), input.size(1), num_heads, -1})
                                : transpose(input, 1, 2);
  const std::int64_t width = rotary_dim ? rotary_dim : data.size(3), half = width / 2;
  Tensor cosine = cosines, sine = sines;
  if (positions.defined()) {
    const Tensor places = flatten(to(positions, i64));
    const Dims shape{positions.size(0), positions.size(1), -1};
    cosine = reshape(index_select(cosines, 0, places), shape);
    sine = reshape(index_select(sines, 0, places), shape);
  }
  cosine = unsqueeze(cosine, 2);
  sine = unsqueeze(sine, 2);
  const Tensor turned = narrow(data, 3, 0, width);
  const Tensor first =
      interleaved ? slice(turned, 3, 0, std::nullopt, 2) : narrow(turned, 3, 0, half);
  const Tensor second =
      interleaved ? slice(turned, 3, 1, std::nullopt, 2) : narrow(turned, 3, half, half);
  const Tensor real = cosine * first - sine * second, imaginary = sine * first + cosine * second;
  Tensor result = interleaved ? reshape(stack({real, imaginary}, -1), turned.shape())
                              : cat({real, imaginary}, 3);
  if (width < data.size(3)) result = cat({result, narrow(data, 3, width, data.size(3) - width)}, 3);
  return by_length ? reshape(result, input.shape()) : transpose(result, 1, 2);
}

}  // namespace bp::onnx
