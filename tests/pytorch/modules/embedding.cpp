#include <backplane/nn/embedding.hpp>

#include "pytorch/modules/families.hpp"

namespace bp::test {
namespace {

Made embedding_module(Args& args) {
  nn::EmbeddingOptions options;
  OPTION(padding_idx);
  OPTION(max_norm);
  OPTION(norm_type);
  OPTION(scale_grad_by_freq);
  return made(nn::Embedding(args.get<std::int64_t>("num_embeddings"),
                            args.get<std::int64_t>("embedding_dim"), options));
}

Made bag_module(Args& args) {
  nn::EmbeddingBagOptions options;
  OPTION(max_norm);
  OPTION(norm_type);
  OPTION(scale_grad_by_freq);
  OPTION(mode);
  OPTION(include_last_offset);
  OPTION(padding_idx);
  return made(nn::EmbeddingBag(args.get<std::int64_t>("num_embeddings"),
                               args.get<std::int64_t>("embedding_dim"), options));
}

}  // namespace

Makers embedding_modules() {
  return {{"Embedding", embedding_module}, {"EmbeddingBag", bag_module}};
}

}  // namespace bp::test
