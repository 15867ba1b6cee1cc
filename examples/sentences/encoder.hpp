// A BERT that gives each sentence a vector: sentences that mean the same have vectors that point the same way.
#pragma once

#include <vector>

#include <backplane/nn/layers.hpp>
#include <backplane/nn/module.hpp>

namespace sentences {

// Those of all-MiniLM-L6-v2, as its config.json has them.
struct Sizes {
  std::int64_t vocabulary = 30522;
  std::int64_t positions = 512;
  std::int64_t width = 384;
  std::int64_t inner = 1536;
  std::int64_t heads = 12;
  std::int64_t layers = 6;
};

// All below have the names of the checkpoint, so that its state_dict loads.
struct Embeddings : bp::nn::Module {
  bp::nn::Embedding words, places, kinds;
  bp::nn::LayerNorm norm;

  Embeddings(const Sizes& sizes, bp::Device device);
  void list_parts(bp::nn::Parts& parts) override;
  // [sentences, length] to [sentences, length, width].
  bp::Tensor forward(const bp::Tensor& pieces) const override;
};

// A linear map, added to what went into the block before it, and normed.
struct Output : bp::nn::Module {
  bp::nn::Linear dense;
  bp::nn::LayerNorm norm;

  Output(std::int64_t from, std::int64_t to, bp::Device device);
  void list_parts(bp::nn::Parts& parts) override;
  using Module::forward;
  bp::Tensor forward(const bp::Tensor& hidden, const bp::Tensor& input) const;
};

struct SelfAttention : bp::nn::Module {
  bp::nn::Linear query, key, value;
  std::int64_t heads;

  SelfAttention(const Sizes& sizes, bp::Device device);
  void list_parts(bp::nn::Parts& parts) override;
  using Module::forward;
  // The mask is what is added to the scores, [sentences, 1, 1, length].
  bp::Tensor forward(const bp::Tensor& input, const bp::Tensor& mask) const;
};

struct Attention : bp::nn::Module {
  SelfAttention self;
  Output output;

  Attention(const Sizes& sizes, bp::Device device);
  void list_parts(bp::nn::Parts& parts) override;
  using Module::forward;
  bp::Tensor forward(const bp::Tensor& input, const bp::Tensor& mask) const;
};

struct Intermediate : bp::nn::Module {
  bp::nn::Linear dense;

  Intermediate(const Sizes& sizes, bp::Device device);
  void list_parts(bp::nn::Parts& parts) override;
  bp::Tensor forward(const bp::Tensor& input) const override;
};

struct Layer : bp::nn::Module {
  Attention attention;
  Intermediate intermediate;
  Output output;

  Layer(const Sizes& sizes, bp::Device device);
  void list_parts(bp::nn::Parts& parts) override;
  using Module::forward;
  bp::Tensor forward(const bp::Tensor& input, const bp::Tensor& mask) const;
};

struct Layers : bp::nn::Module {
  std::vector<Layer> all;

  void list_parts(bp::nn::Parts& parts) override;
};

struct Encoder : bp::nn::Module {
  Layers layer;

  void list_parts(bp::nn::Parts& parts) override;
};

struct Bert : bp::nn::Module {
  Embeddings embeddings;
  Encoder encoder;

  explicit Bert(const Sizes& sizes, bp::Device device);
  void list_parts(bp::nn::Parts& parts) override;
  using Module::forward;
  // Numbers of pieces, int64, and which of them are there, bool, both [sentences, length]: to [sentences, width], the mean
  // over the pieces that are there, of length one.
  bp::Tensor forward(const bp::Tensor& pieces, const bp::Tensor& is_there) const;
};

}  // namespace sentences
