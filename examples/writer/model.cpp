#include "model.hpp"

#include <backplane/backplane.hpp>

namespace writer {
namespace {

using bp::Tensor;

bp::nn::Linear linear(std::int64_t from, std::int64_t to, bp::Device device) {
  return bp::nn::Linear(from, to, {.device = device});
}

Tensor attend(const Tensor& mixed, std::int64_t heads) {
  std::vector<Tensor> parts;
  for (const Tensor& part : bp::chunk(mixed, 3, -1))
    parts.push_back(bp::transpose(bp::unflatten(part, -1, {heads, part.size(-1) / heads}), 1, 2));
  const Tensor seen = bp::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, true);
  return bp::flatten(bp::transpose(seen, 1, 2), -2);
}

}  // namespace

Block::Block(const Sizes& sizes, bp::Device device)
    : before_attention({sizes.width}, {.device = device}),
      before_mlp({sizes.width}, {.device = device}),
      attention_in(linear(sizes.width, 3 * sizes.width, device)),
      attention_out(linear(sizes.width, sizes.width, device)),
      mlp_in(linear(sizes.width, 4 * sizes.width, device)),
      mlp_out(linear(4 * sizes.width, sizes.width, device)), heads(sizes.heads) {}

void Block::list_parts(bp::nn::Parts& parts) {
  parts.module("before_attention", before_attention);
  parts.module("attention_in", attention_in);
  parts.module("attention_out", attention_out);
  parts.module("before_mlp", before_mlp);
  parts.module("mlp_in", mlp_in);
  parts.module("mlp_out", mlp_out);
}

Tensor Block::forward(const Tensor& x) const {
  const Tensor attended = x + attention_out(attend(attention_in(before_attention(x)), heads));
  return attended + mlp_out(bp::gelu(mlp_in(before_mlp(attended))));
}

Model::Model(const Sizes& sizes, bp::Device device)
    : characters(sizes.characters, sizes.width, {.device = device}),
      places(sizes.context, sizes.width, {.device = device}),
      norm({sizes.width}, {.device = device}),
      scores(linear(sizes.width, sizes.characters, device)) {
  for (std::int64_t i = 0; i < sizes.blocks; ++i) blocks.emplace_back(sizes, device);
}

void Model::list_parts(bp::nn::Parts& parts) {
  parts.module("characters", characters);
  parts.module("places", places);
  for (std::size_t i = 0; i < blocks.size(); ++i)
    parts.module("block" + std::to_string(i), blocks[i]);
  parts.module("norm", norm);
  parts.module("scores", scores);
}

Tensor Model::forward(const Tensor& numbers) const {
  Tensor x = characters(numbers) + bp::narrow(places.weight, 0, 0, numbers.size(1));
  for (const Block& block : blocks) x = block(x);
  return scores(norm(x));
}

}  // namespace writer
