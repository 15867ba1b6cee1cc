#include <backplane/nn/attention.hpp>

#include "pytorch/modules/families.hpp"

namespace bp::test {
namespace {

// Query, key, value, key_padding_mask, attn_mask, and whether it needs weights, averages them and is causal.
Tensors attend(const nn::MultiheadAttention& module, const Tensors& in) {
  const std::vector<std::int64_t> flags = to_vector<std::int64_t>(in[5]);
  const nn::AttentionResult result = module(in[0], in[1], in[2],
                                            {.key_padding_mask = in[3],
                                             .need_weights = flags[0] != 0,
                                             .attn_mask = in[4],
                                             .average_attn_weights = flags[1] != 0,
                                             .is_causal = flags[2] != 0});
  return result.weights.defined() ? Tensors{result.output, result.weights} : Tensors{result.output};
}

}  // namespace

Makers attention_modules() {
  return {
      {"MultiheadAttention",
       [](Args& args) {
         nn::MultiheadAttentionOptions options;
         OPTION(dropout);
         OPTION(bias);
         OPTION(add_bias_kv);
         OPTION(add_zero_attn);
         OPTION(kdim);
         OPTION(vdim);
         OPTION(batch_first);
         return made(nn::MultiheadAttention(args.get<std::int64_t>("embed_dim"),
                                            args.get<std::int64_t>("num_heads"), options),
                     attend);
       }},
  };
}

}  // namespace bp::test
