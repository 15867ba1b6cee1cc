#include "encoder.hpp"

#include <cmath>

#include <backplane/backplane.hpp>

namespace sentences {
namespace {

using bp::Tensor;

constexpr double norm_eps = 1e-12;  // BERT's

bp::nn::LayerNorm layer_norm(std::int64_t width, bp::Device device) {
  return bp::nn::LayerNorm({width}, {.eps = norm_eps, .device = device});
}

bp::nn::Linear square(std::int64_t width, bp::Device device) {
  return bp::nn::Linear(width, width, {.device = device});
}

// [sentences, length, width] to [sentences, heads, length, width / heads].
Tensor parted(const Tensor& all, std::int64_t heads) {
  return bp::transpose(bp::unflatten(all, -1, {heads, all.size(-1) / heads}), 1, 2);
}

}  // namespace

Embeddings::Embeddings(const Sizes& sizes, bp::Device device)
    : words(sizes.vocabulary, sizes.width, {.device = device}),
      places(sizes.positions, sizes.width, {.device = device}),
      kinds(2, sizes.width, {.device = device}), norm(layer_norm(sizes.width, device)) {}

void Embeddings::list_parts(bp::nn::Parts& parts) {
  parts.module("word_embeddings", words);
  parts.module("position_embeddings", places);
  parts.module("token_type_embeddings", kinds);
  parts.module("LayerNorm", norm);
}

Tensor Embeddings::forward(const Tensor& pieces) const {
  const Tensor at = bp::narrow(places.weight, 0, 0, pieces.size(1));
  const Tensor first_kind = bp::select(kinds.weight, 0, 0);  // no second sentence here
  return norm(words(pieces) + first_kind + at);
}

Output::Output(std::int64_t from, std::int64_t to, bp::Device device)
    : dense(from, to, {.device = device}), norm(layer_norm(to, device)) {}

void Output::list_parts(bp::nn::Parts& parts) {
  parts.module("dense", dense);
  parts.module("LayerNorm", norm);
}

Tensor Output::forward(const Tensor& hidden, const Tensor& input) const {
  return norm(dense(hidden) + input);
}

SelfAttention::SelfAttention(const Sizes& sizes, bp::Device device)
    : query(square(sizes.width, device)), key(square(sizes.width, device)),
      value(square(sizes.width, device)), heads(sizes.heads) {}

void SelfAttention::list_parts(bp::nn::Parts& parts) {
  parts.module("query", query);
  parts.module("key", key);
  parts.module("value", value);
}

Tensor SelfAttention::forward(const Tensor& input, const Tensor& mask) const {
  const Tensor mixed = bp::scaled_dot_product_attention(
      parted(query(input), heads), parted(key(input), heads), parted(value(input), heads), mask);
  return bp::flatten(bp::transpose(mixed, 1, 2), -2);
}

Attention::Attention(const Sizes& sizes, bp::Device device)
    : self(sizes, device), output(sizes.width, sizes.width, device) {}

void Attention::list_parts(bp::nn::Parts& parts) {
  parts.module("self", self);
  parts.module("output", output);
}

Tensor Attention::forward(const Tensor& input, const Tensor& mask) const {
  return output.forward(self.forward(input, mask), input);
}

Intermediate::Intermediate(const Sizes& sizes, bp::Device device)
    : dense(sizes.width, sizes.inner, {.device = device}) {}

void Intermediate::list_parts(bp::nn::Parts& parts) {
  parts.module("dense", dense);
}

Tensor Intermediate::forward(const Tensor& input) const {
  return bp::gelu(dense(input));
}

Layer::Layer(const Sizes& sizes, bp::Device device)
    : attention(sizes, device), intermediate(sizes, device),
      output(sizes.inner, sizes.width, device) {}

void Layer::list_parts(bp::nn::Parts& parts) {
  parts.module("attention", attention);
  parts.module("intermediate", intermediate);
  parts.module("output", output);
}

Tensor Layer::forward(const Tensor& input, const Tensor& mask) const {
  const Tensor attended = attention.forward(input, mask);
  return output.forward(intermediate(attended), attended);
}

void Layers::list_parts(bp::nn::Parts& parts) {
  for (std::size_t i = 0; i < all.size(); ++i) parts.module(std::to_string(i), all[i]);
}

void Encoder::list_parts(bp::nn::Parts& parts) {
  parts.module("layer", layer);
}

Bert::Bert(const Sizes& sizes, bp::Device device) : embeddings(sizes, device) {
  for (std::int64_t i = 0; i < sizes.layers; ++i) encoder.layer.all.emplace_back(sizes, device);
}

void Bert::list_parts(bp::nn::Parts& parts) {
  parts.module("embeddings", embeddings);
  parts.module("encoder", encoder);
}

Tensor Bert::forward(const Tensor& pieces, const Tensor& is_there) const {
  const Tensor there = bp::unsqueeze(bp::cast(is_there, bp::f32), -1);
  const Tensor mask = bp::unsqueeze(bp::unsqueeze(is_there, 1), 1);
  Tensor hidden = embeddings(pieces);
  for (const Layer& layer : encoder.layer.all) hidden = layer.forward(hidden, mask);
  const Tensor mean = bp::sum(hidden * there, {1}) / bp::sum(there, {1});
  return bp::normalize(mean, 2, 1);
}

}  // namespace sentences
