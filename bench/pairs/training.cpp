#include "training.hpp"

#include <backplane/nn/layers.hpp>
#include <backplane/optim/adam.hpp>
#include <backplane/optim/sgd.hpp>
#include <backplane/tensors.hpp>

#include "../peers/measure.hpp"
#include "../peers/resident.hpp"
#include "resnet.hpp"

namespace {

using bp::Tensor;
namespace nn = bp::nn;

// Two rows: the time of a step, and how much memory the steps took beyond what the network itself has.
template <class Step> void report_step(const std::string& network, Step step) {
  const double before = bench::resident_mb();
  const double ns = bench::median_ns(step);
  bench::report((network + "_step").c_str(), ns / 1e3, "us");
  bench::report((network + "_peak_memory").c_str(), bench::largest_resident_mb() - before, "MB");
}

template <class Loss> void step_down(bp::optim::Optimizer& optimizer, Loss loss) {
  optimizer.zero_grad();
  bp::backward(loss());
  optimizer.step();
}

// Two convolutions, a pooling, and a score for each digit.
struct Digits : nn::Module {
  nn::Conv2d edges{1, 16, 3, {.padding = 1}}, shapes{16, 32, 3, {.padding = 1}};
  nn::Linear scores{32 * 4 * 4, 10};

  void list_parts(nn::Parts& parts) override {
    parts.module("edges", edges);
    parts.module("shapes", shapes);
    parts.module("scores", scores);
  }
  Tensor forward(const Tensor& x) const override {
    const Tensor seen = bp::max_pool2d(bp::relu(shapes(bp::relu(edges(x)))), {2});
    return scores(bp::flatten(seen, 1));
  }
};

void measure_digits() {
  Digits net;
  bp::optim::SGD optimizer(net.parameters(), {.lr = 0.05, .momentum = 0.9});
  const Tensor x = bp::rand({32, 1, 8, 8}), y = bp::randint(0, 10, {32});
  report_step("digits",
              [&] { step_down(optimizer, [&] { return bp::cross_entropy(net(x), y); }); });
}

void measure_resnet18() {
  resnet::ResNet<resnet::Block> net({2, 2, 2, 2});
  bp::optim::SGD optimizer(net.parameters(), {.lr = 0.01, .momentum = 0.9});
  const Tensor x = bp::randn({16, 3, 64, 64}), y = bp::randint(0, 1000, {16});
  report_step("resnet18",
              [&] { step_down(optimizer, [&] { return bp::cross_entropy(net(x), y); }); });
}

void measure_mlp() {
  nn::Sequential net(nn::Linear(256, 512), nn::ReLU(), nn::Linear(512, 512), nn::ReLU(),
                     nn::Linear(512, 10));
  bp::optim::SGD optimizer(net.parameters(), {.lr = 0.05, .momentum = 0.9});
  const Tensor x = bp::rand({64, 256}), y = bp::randint(0, 10, {64});
  report_step("mlp", [&] { step_down(optimizer, [&] { return bp::cross_entropy(net(x), y); }); });
}

struct TransformerSizes {
  std::int64_t layers, width, heads, vocabulary, words;
};

struct TransformerBlock : nn::Module {
  TransformerSizes of;
  nn::LayerNorm norm1{{of.width}}, norm2{{of.width}};
  nn::Linear mix{of.width, 3 * of.width}, out{of.width, of.width};
  nn::Linear up{of.width, 4 * of.width}, down{4 * of.width, of.width};

  explicit TransformerBlock(const TransformerSizes& sizes) : of(sizes) {}
  void list_parts(nn::Parts& parts) override {
    parts.module("norm1", norm1);
    parts.module("mix", mix);
    parts.module("out", out);
    parts.module("norm2", norm2);
    parts.module("up", up);
    parts.module("down", down);
  }
  Tensor forward(const Tensor& x) const override {
    std::vector<Tensor> parts = bp::chunk(mix(norm1(x)), 3, -1);
    for (Tensor& part : parts)
      part = bp::transpose(bp::unflatten(part, -1, {of.heads, of.width / of.heads}), 1, 2);
    const Tensor seen =
        bp::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, true);
    const Tensor attended = x + out(bp::flatten(bp::transpose(seen, 1, 2), -2));
    return attended + down(bp::gelu(up(norm2(attended))));
  }
};

struct Transformer : nn::Module {
  TransformerSizes of;
  nn::Embedding words{of.vocabulary, of.width}, places{of.words, of.width};
  nn::Sequential blocks;
  nn::LayerNorm norm{{of.width}};
  nn::Linear scores{of.width, of.vocabulary};

  explicit Transformer(const TransformerSizes& sizes) : of(sizes) {
    for (int i = 0; i < of.layers; ++i) blocks.append(TransformerBlock(of));
  }
  void list_parts(nn::Parts& parts) override {
    parts.module("words", words);
    parts.module("places", places);
    parts.module("blocks", blocks);
    parts.module("norm", norm);
    parts.module("scores", scores);
  }
  Tensor forward(const Tensor& x) const override {
    return scores(norm(blocks(words(x) + places.weight)));
  }
};

void measure_transformer(const std::string& name, const TransformerSizes& sizes) {
  Transformer net(sizes);
  bp::optim::AdamW optimizer(net.parameters(), {.lr = 1e-3});
  const Tensor x = bp::randint(0, sizes.vocabulary, {8, sizes.words});
  const Tensor y = bp::flatten(bp::roll(x, {1}, {1}));
  report_step(name, [&] {
    step_down(optimizer, [&] { return bp::cross_entropy(bp::flatten(net(x), 0, 1), y); });
  });
}

}  // namespace

void measure_training(const std::string& network) {
  bp::manual_seed(1);
  if (network == "digits") measure_digits();
  if (network == "resnet18") measure_resnet18();
  if (network == "mlp") measure_mlp();
  if (network == "transformer") measure_transformer(network, {6, 384, 6, 1000, 128});
  if (network == "small_transformer") measure_transformer(network, {2, 64, 4, 100, 64});
}
