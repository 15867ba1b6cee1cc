// Encoders and decoders of attention and feed-forward layers (Vaswani et al., Attention is all you need, 2017).
#pragma once

#include <functional>

#include <backplane/core_ops/generated/pointwise.hpp>
#include <backplane/nn/attention.hpp>
#include <backplane/nn/containers.hpp>
#include <backplane/nn/dropout.hpp>
#include <backplane/nn/normalization.hpp>

namespace bp::nn {

struct TransformerLayerOptions {
  std::int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  std::function<Tensor(const Tensor&)> activation = bp::relu;
  double layer_norm_eps = 1e-5;
  bool batch_first = false;
  bool norm_first =
      false;  // normalizes before attention and feed-forward, not after them (Xiong et al., 2020)
  bool bias = true;
  Dtype dtype = default_dtype();
  Device device = default_device();
};

// Masks are those of MultiheadAttention: attn_mask, [queries, keys], and key_padding_mask, [batch, keys].
struct EncoderArguments {
  Tensor src_mask = {};
  Tensor src_key_padding_mask = {};
  bool is_causal = false;  // says that src_mask, which is given as well, hides all that comes later
};
struct DecoderArguments {
  Tensor tgt_mask = {};
  Tensor memory_mask = {};
  Tensor tgt_key_padding_mask = {};
  Tensor memory_key_padding_mask = {};
  bool tgt_is_causal = false;
  bool memory_is_causal = false;
};

// Inputs of all of these are [length, batch, d_model], [batch, length, d_model] with `batch_first`, or [length, d_model].
class BP_API TransformerEncoderLayer : public Module {
 public:
  TransformerEncoderLayer(std::int64_t d_model, std::int64_t nhead,
                          const TransformerLayerOptions& options = {});
  Tensor operator()(const Tensor& src, const EncoderArguments& arguments = {}) const;
  Tensor forward(const Tensor& src) const override { return forward(src, {}); }
  Tensor forward(const Tensor& src, const EncoderArguments& arguments) const;
  void list_parts(Parts& parts) override;

  MultiheadAttention self_attn;
  Linear linear1;
  Dropout dropout;
  Linear linear2;
  LayerNorm norm1, norm2;
  Dropout dropout1, dropout2;

 private:
  Tensor attend(const Tensor& x, const EncoderArguments& arguments) const;
  Tensor feed(const Tensor& x) const;

  std::function<Tensor(const Tensor&)> activation_;
  bool norm_first_;
};

class BP_API TransformerDecoderLayer : public Module {
 public:
  TransformerDecoderLayer(std::int64_t d_model, std::int64_t nhead,
                          const TransformerLayerOptions& options = {});
  // `memory` is what an encoder gave.
  Tensor operator()(const Tensor& tgt, const Tensor& memory,
                    const DecoderArguments& arguments = {}) const;
  using Module::forward;
  Tensor forward(const Tensor& tgt, const Tensor& memory,
                 const DecoderArguments& arguments = {}) const;
  std::vector<Tensor> forward_all(std::span<const Tensor> inputs) const override;
  void list_parts(Parts& parts) override;

  MultiheadAttention self_attn, multihead_attn;
  Linear linear1;
  Dropout dropout;
  Linear linear2;
  LayerNorm norm1, norm2, norm3;
  Dropout dropout1, dropout2, dropout3;

 private:
  Tensor attend(const Tensor& x, const DecoderArguments& arguments) const;
  Tensor remember(const Tensor& x, const Tensor& memory, const DecoderArguments& arguments) const;
  Tensor feed(const Tensor& x) const;

  std::function<Tensor(const Tensor&)> activation_;
  bool norm_first_;
};

// Clones of a layer, one after the other, and a normalization behind them.
class BP_API TransformerEncoder : public Module {
 public:
  TransformerEncoder(const TransformerEncoderLayer& encoder_layer, std::int64_t num_layers,
                     const std::optional<LayerNorm>& norm = std::nullopt);
  Tensor operator()(const Tensor& src, const EncoderArguments& arguments = {}) const;
  Tensor forward(const Tensor& src) const override { return forward(src, {}); }
  Tensor forward(const Tensor& src, const EncoderArguments& arguments) const;
  void list_parts(Parts& parts) override;

  ModuleList layers;
  std::optional<LayerNorm> norm;
};

class BP_API TransformerDecoder : public Module {
 public:
  TransformerDecoder(const TransformerDecoderLayer& decoder_layer, std::int64_t num_layers,
                     const std::optional<LayerNorm>& norm = std::nullopt);
  Tensor operator()(const Tensor& tgt, const Tensor& memory,
                    const DecoderArguments& arguments = {}) const;
  using Module::forward;
  Tensor forward(const Tensor& tgt, const Tensor& memory,
                 const DecoderArguments& arguments = {}) const;
  std::vector<Tensor> forward_all(std::span<const Tensor> inputs) const override;
  void list_parts(Parts& parts) override;

  ModuleList layers;
  std::optional<LayerNorm> norm;
};

struct TransformerOptions {
  std::int64_t d_model = 512;
  std::int64_t nhead = 8;
  std::int64_t num_encoder_layers = 6;
  std::int64_t num_decoder_layers = 6;
  TransformerLayerOptions layer = {};
  std::optional<TransformerEncoder> custom_encoder = {};
  std::optional<TransformerDecoder> custom_decoder = {};
};

struct TransformerArguments {
  EncoderArguments encoder = {};
  DecoderArguments decoder = {};
};

// Matrices begin as xavier_uniform_.
class BP_API Transformer : public Module {
 public:
  explicit Transformer(const TransformerOptions& options = {});
  Tensor operator()(const Tensor& src, const Tensor& tgt,
                    const TransformerArguments& arguments = {}) const;
  using Module::forward;
  Tensor forward(const Tensor& src, const Tensor& tgt,
                 const TransformerArguments& arguments = {}) const;
  std::vector<Tensor> forward_all(std::span<const Tensor> inputs) const override;
  void list_parts(Parts& parts) override;

  // Added to scores, it lets each query see the keys up to its own place: 0 there, and -inf after it.
  static Tensor generate_square_subsequent_mask(std::int64_t size, Dtype dtype = default_dtype(),
                                                Device device = default_device());

  TransformerEncoder encoder;
  TransformerDecoder decoder;

 private:
  std::int64_t d_model_;
  bool batch_first_;
};

}  // namespace bp::nn
