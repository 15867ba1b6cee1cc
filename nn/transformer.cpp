#include <limits>

#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/operators.hpp>
#include <backplane/nn/init.hpp>
#include <backplane/nn/transformer.hpp>
#include <backplane/tensor/check.hpp>

#include "initial.hpp"

namespace bp::nn {
namespace {

MultiheadAttention attention_of(std::int64_t d_model, std::int64_t nhead,
                                const TransformerLayerOptions& o) {
  return MultiheadAttention(d_model, nhead,
                            {.dropout = o.dropout,
                             .bias = o.bias,
                             .batch_first = o.batch_first,
                             .dtype = o.dtype,
                             .device = o.device});
}

Linear linear_of(std::int64_t in, std::int64_t out, const TransformerLayerOptions& o) {
  return Linear(in, out, {.bias = o.bias, .dtype = o.dtype, .device = o.device});
}

LayerNorm norm_of(std::int64_t d_model, const TransformerLayerOptions& o) {
  return LayerNorm(d_model,
                   {.eps = o.layer_norm_eps, .bias = o.bias, .dtype = o.dtype, .device = o.device});
}

Dropout dropout_of(const TransformerLayerOptions& o) {
  return Dropout({.p = o.dropout});
}

Tensor attended(const MultiheadAttention& attention, const Tensor& query, const Tensor& key,
                const Tensor& mask, const Tensor& padding, bool is_causal) {
  return attention(query, key, key,
                   {.key_padding_mask = padding,
                    .need_weights = false,
                    .attn_mask = mask,
                    .is_causal = is_causal})
      .output;
}

template <class Layer> ModuleList clones_of(const Layer& layer, std::int64_t count) {
  BP_CHECK(count >= 0, "{}: {} layers; pass 0 or more", layer.type_name(), count);
  check_size(layer.type_name().c_str(), "the number of layers", count, 1 << 16);
  ModuleList layers;
  for (std::int64_t i = 0; i < count; ++i) layers.append(nn::clone(layer));
  return layers;
}

void check_two(const Module& module, std::span<const Tensor> inputs) {
  BP_CHECK(inputs.size() == 2, "{}: got {} tensors; pass two", module.type_name(), inputs.size());
}

}  // namespace

TransformerEncoderLayer::TransformerEncoderLayer(std::int64_t d_model, std::int64_t nhead,
                                                 const TransformerLayerOptions& options)
    : self_attn(attention_of(d_model, nhead, options)),
      linear1(linear_of(d_model, options.dim_feedforward, options)), dropout(dropout_of(options)),
      linear2(linear_of(options.dim_feedforward, d_model, options)),
      norm1(norm_of(d_model, options)), norm2(norm_of(d_model, options)),
      dropout1(dropout_of(options)), dropout2(dropout_of(options)), activation_(options.activation),
      norm_first_(options.norm_first) {
  BP_CHECK(activation_ != nullptr, "TransformerEncoderLayer: no activation; pass a function");
}

void TransformerEncoderLayer::list_parts(Parts& parts) {
  parts.module("self_attn", self_attn);
  parts.module("linear1", linear1);
  parts.module("dropout", dropout);
  parts.module("linear2", linear2);
  parts.module("norm1", norm1);
  parts.module("norm2", norm2);
  parts.module("dropout1", dropout1);
  parts.module("dropout2", dropout2);
}

Tensor TransformerEncoderLayer::operator()(const Tensor& src,
                                           const EncoderArguments& arguments) const {
  return call({src}, [&](const Module& self, std::span<const Tensor> in) {
    const auto& layer = static_cast<const TransformerEncoderLayer&>(self);
    return std::vector<Tensor>{layer.forward(in[0], arguments)};
  })[0];
}

Tensor TransformerEncoderLayer::attend(const Tensor& x, const EncoderArguments& arguments) const {
  return dropout1(attended(self_attn, x, x, arguments.src_mask, arguments.src_key_padding_mask,
                           arguments.is_causal));
}

Tensor TransformerEncoderLayer::feed(const Tensor& x) const {
  return dropout2(linear2(dropout(activation_(linear1(x)))));
}

Tensor TransformerEncoderLayer::forward(const Tensor& src,
                                        const EncoderArguments& arguments) const {
  if (norm_first_) {
    const Tensor x = src + attend(norm1(src), arguments);
    return x + feed(norm2(x));
  }
  const Tensor x = norm1(src + attend(src, arguments));
  return norm2(x + feed(x));
}

TransformerDecoderLayer::TransformerDecoderLayer(std::int64_t d_model, std::int64_t nhead,
                                                 const TransformerLayerOptions& options)
    : self_attn(attention_of(d_model, nhead, options)),
      multihead_attn(attention_of(d_model, nhead, options)),
      linear1(linear_of(d_model, options.dim_feedforward, options)), dropout(dropout_of(options)),
      linear2(linear_of(options.dim_feedforward, d_model, options)),
      norm1(norm_of(d_model, options)), norm2(norm_of(d_model, options)),
      norm3(norm_of(d_model, options)), dropout1(dropout_of(options)),
      dropout2(dropout_of(options)), dropout3(dropout_of(options)), activation_(options.activation),
      norm_first_(options.norm_first) {
  BP_CHECK(activation_ != nullptr, "TransformerDecoderLayer: no activation; pass a function");
}

void TransformerDecoderLayer::list_parts(Parts& parts) {
  parts.module("self_attn", self_attn);
  parts.module("multihead_attn", multihead_attn);
  parts.module("linear1", linear1);
  parts.module("dropout", dropout);
  parts.module("linear2", linear2);
  parts.module("norm1", norm1);
  parts.module("norm2", norm2);
  parts.module("norm3", norm3);
  parts.module("dropout1", dropout1);
  parts.module("dropout2", dropout2);
  parts.module("dropout3", dropout3);
}

Tensor TransformerDecoderLayer::operator()(const Tensor& tgt, const Tensor& memory,
                                           const DecoderArguments& arguments) const {
  return call({tgt, memory}, [&](const Module& self, std::span<const Tensor> in) {
    const auto& layer = static_cast<const TransformerDecoderLayer&>(self);
    return std::vector<Tensor>{layer.forward(in[0], in[1], arguments)};
  })[0];
}

std::vector<Tensor> TransformerDecoderLayer::forward_all(std::span<const Tensor> inputs) const {
  check_two(*this, inputs);
  return {forward(inputs[0], inputs[1])};
}

Tensor TransformerDecoderLayer::attend(const Tensor& x, const DecoderArguments& arguments) const {
  return dropout1(attended(self_attn, x, x, arguments.tgt_mask, arguments.tgt_key_padding_mask,
                           arguments.tgt_is_causal));
}

Tensor TransformerDecoderLayer::remember(const Tensor& x, const Tensor& memory,
                                         const DecoderArguments& arguments) const {
  return dropout2(attended(multihead_attn, x, memory, arguments.memory_mask,
                           arguments.memory_key_padding_mask, arguments.memory_is_causal));
}

Tensor TransformerDecoderLayer::feed(const Tensor& x) const {
  return dropout3(linear2(dropout(activation_(linear1(x)))));
}

Tensor TransformerDecoderLayer::forward(const Tensor& tgt, const Tensor& memory,
                                        const DecoderArguments& arguments) const {
  if (norm_first_) {
    Tensor x = tgt + attend(norm1(tgt), arguments);
    x = x + remember(norm2(x), memory, arguments);
    return x + feed(norm3(x));
  }
  Tensor x = norm1(tgt + attend(tgt, arguments));
  x = norm2(x + remember(x, memory, arguments));
  return norm3(x + feed(x));
}

TransformerEncoder::TransformerEncoder(const TransformerEncoderLayer& encoder_layer,
                                       std::int64_t num_layers,
                                       const std::optional<LayerNorm>& norm)
    : layers(clones_of(encoder_layer, num_layers)), norm(norm) {}

void TransformerEncoder::list_parts(Parts& parts) {
  parts.module("layers", layers);
  if (norm) parts.module("norm", *norm);
}

Tensor TransformerEncoder::operator()(const Tensor& src, const EncoderArguments& arguments) const {
  return call({src}, [&](const Module& self, std::span<const Tensor> in) {
    const auto& encoder = static_cast<const TransformerEncoder&>(self);
    return std::vector<Tensor>{encoder.forward(in[0], arguments)};
  })[0];
}

Tensor TransformerEncoder::forward(const Tensor& src, const EncoderArguments& arguments) const {
  Tensor x = src;
  for (std::size_t i = 0; i < layers.size(); ++i)
    x = layers.at<TransformerEncoderLayer>(i)(x, arguments);
  return norm ? (*norm)(x) : x;
}

TransformerDecoder::TransformerDecoder(const TransformerDecoderLayer& decoder_layer,
                                       std::int64_t num_layers,
                                       const std::optional<LayerNorm>& norm)
    : layers(clones_of(decoder_layer, num_layers)), norm(norm) {}

void TransformerDecoder::list_parts(Parts& parts) {
  parts.module("layers", layers);
  if (norm) parts.module("norm", *norm);
}

Tensor TransformerDecoder::operator()(const Tensor& tgt, const Tensor& memory,
                                      const DecoderArguments& arguments) const {
  return call({tgt, memory}, [&](const Module& self, std::span<const Tensor> in) {
    const auto& decoder = static_cast<const TransformerDecoder&>(self);
    return std::vector<Tensor>{decoder.forward(in[0], in[1], arguments)};
  })[0];
}

std::vector<Tensor> TransformerDecoder::forward_all(std::span<const Tensor> inputs) const {
  check_two(*this, inputs);
  return {forward(inputs[0], inputs[1])};
}

Tensor TransformerDecoder::forward(const Tensor& tgt, const Tensor& memory,
                                   const DecoderArguments& arguments) const {
  Tensor x = tgt;
  for (std::size_t i = 0; i < layers.size(); ++i)
    x = layers.at<TransformerDecoderLayer>(i)(x, memory, arguments);
  return norm ? (*norm)(x) : x;
}

Transformer::Transformer(const TransformerOptions& options)
    : encoder(options.custom_encoder
                  ? *options.custom_encoder
                  : TransformerEncoder(
                        TransformerEncoderLayer(options.d_model, options.nhead, options.layer),
                        options.num_encoder_layers, norm_of(options.d_model, options.layer))),
      decoder(options.custom_decoder
                  ? *options.custom_decoder
                  : TransformerDecoder(
                        TransformerDecoderLayer(options.d_model, options.nhead, options.layer),
                        options.num_decoder_layers, norm_of(options.d_model, options.layer))),
      d_model_(options.d_model), batch_first_(options.layer.batch_first) {
  for (const Tensor& parameter : parameters())
    if (parameter.ndim() > 1) init::xavier_uniform_(parameter);
}

void Transformer::list_parts(Parts& parts) {
  parts.module("encoder", encoder);
  parts.module("decoder", decoder);
}

Tensor Transformer::operator()(const Tensor& src, const Tensor& tgt,
                               const TransformerArguments& arguments) const {
  return call({src, tgt}, [&](const Module& self, std::span<const Tensor> in) {
    const auto& transformer = static_cast<const Transformer&>(self);
    return std::vector<Tensor>{transformer.forward(in[0], in[1], arguments)};
  })[0];
}

std::vector<Tensor> Transformer::forward_all(std::span<const Tensor> inputs) const {
  check_two(*this, inputs);
  return {forward(inputs[0], inputs[1])};
}

Tensor Transformer::forward(const Tensor& src, const Tensor& tgt,
                            const TransformerArguments& arguments) const {
  BP_CHECK(src.ndim() >= 2 && tgt.ndim() == src.ndim() && src.size(-1) == d_model_ &&
               tgt.size(-1) == d_model_,
           "Transformer: src has shape {} and tgt {}; pass [length, batch, {}] or [length, {}]",
           bp::to_string(src.shape()), bp::to_string(tgt.shape()), d_model_, d_model_);
  const std::int64_t batch = batch_first_ ? 0 : 1;
  BP_CHECK(src.ndim() == 2 || src.size(batch) == tgt.size(batch),
           "Transformer: src has shape {} and tgt {}; dimension {}, the batch, must be the same",
           bp::to_string(src.shape()), bp::to_string(tgt.shape()), batch);
  return decoder(tgt, encoder(src, arguments.encoder), arguments.decoder);
}

Tensor Transformer::generate_square_subsequent_mask(std::int64_t size, Dtype dtype, Device device) {
  return triu(full({size, size}, -std::numeric_limits<double>::infinity(), dtype, device), 1);
}

}  // namespace bp::nn
