// A small GPT (Radford et al., 2018) over characters: what may come after a text.
#pragma once

#include <vector>

#include <backplane/nn/layers.hpp>
#include <backplane/nn/module.hpp>

namespace writer {

struct Sizes {
  std::int64_t characters = 0;  // how many different ones there are
  std::int64_t context = 64;    // how many it sees at once
  std::int64_t width = 96;
  std::int64_t heads = 4;
  std::int64_t blocks = 3;
};

struct Block : bp::nn::Module {
  bp::nn::LayerNorm before_attention, before_mlp;
  bp::nn::Linear attention_in, attention_out, mlp_in, mlp_out;
  std::int64_t heads;

  Block(const Sizes& sizes, bp::Device device);
  void list_parts(bp::nn::Parts& parts) override;
  // [texts, length, width] to the same shape; each place sees itself and those before it.
  bp::Tensor forward(const bp::Tensor& x) const override;
};

struct Model : bp::nn::Module {
  bp::nn::Embedding characters, places;
  std::vector<Block> blocks;
  bp::nn::LayerNorm norm;
  bp::nn::Linear scores;

  Model(const Sizes& sizes, bp::Device device);
  void list_parts(bp::nn::Parts& parts) override;
  // Numbers of characters [texts, length], length at most the context: to scores of the next ones, [texts, length,
  // characters].
  bp::Tensor forward(const bp::Tensor& numbers) const override;
};

}  // namespace writer
