#include <backplane/nn/transformer.hpp>

#include "pytorch/modules/families.hpp"

namespace bp::test {
namespace {

nn::TransformerLayerOptions layer_options(Args& args) {
  nn::TransformerLayerOptions options;
  OPTION(dim_feedforward);
  OPTION(dropout);
  OPTION(layer_norm_eps);
  OPTION(batch_first);
  OPTION(norm_first);
  OPTION(bias);
  std::string activation = "relu";
  args.read("activation", activation);
  if (activation == "gelu") options.activation = [](const Tensor& x) { return gelu(x); };
  return options;
}

template <class Layer> Layer layer_of(Args& args) {
  return Layer(args.get<std::int64_t>("d_model"), args.get<std::int64_t>("nhead"),
               layer_options(args));
}

template <class Stack, class Layer> Stack stack_of(Args& args) {
  const bool has_norm = args.get<bool>("norm");
  return Stack(layer_of<Layer>(args), args.get<std::int64_t>("num_layers"),
               has_norm ? std::optional(nn::LayerNorm(6)) : std::nullopt);
}

nn::Transformer whole_of(Args& args) {
  nn::TransformerOptions options{.layer = layer_options(args)};
  OPTION(d_model);
  OPTION(nhead);
  OPTION(num_encoder_layers);
  OPTION(num_decoder_layers);
  return nn::Transformer(options);
}

const auto encode = [](const auto& module, const Tensors& in) {
  return module(in[0], {.src_mask = in[1], .src_key_padding_mask = in[2]});
};
const auto decode = [](const auto& module, const Tensors& in) {
  return module(in[0], in[1],
                {.tgt_mask = in[2],
                 .memory_mask = in[3],
                 .tgt_key_padding_mask = in[4],
                 .memory_key_padding_mask = in[5]});
};
const auto run_whole = [](const nn::Transformer& module, const Tensors& in) {
  return module(in[0], in[1],
                {.encoder = {.src_mask = in[2], .src_key_padding_mask = in[4]},
                 .decoder = {.tgt_mask = in[3], .memory_key_padding_mask = in[4]}});
};

}  // namespace

Makers transformer_modules() {
  using namespace nn;
  return {
      {"TransformerEncoderLayer",
       [](Args& args) { return made(layer_of<TransformerEncoderLayer>(args), encode); }},
      {"TransformerDecoderLayer",
       [](Args& args) { return made(layer_of<TransformerDecoderLayer>(args), decode); }},
      {"TransformerEncoder",
       [](Args& args) {
         return made(stack_of<TransformerEncoder, TransformerEncoderLayer>(args), encode);
       }},
      {"TransformerDecoder",
       [](Args& args) {
         return made(stack_of<TransformerDecoder, TransformerDecoderLayer>(args), decode);
       }},
      {"Transformer", [](Args& args) { return made(whole_of(args), run_whole); }},
  };
}

}  // namespace bp::test
