#include "inference.hpp"

#include <backplane/nn/layers.hpp>
#include <backplane/tensors.hpp>

#include "../peers/measure.hpp"
#include "resnet.hpp"

namespace {

using bp::Tensor;
namespace nn = bp::nn;

constexpr std::int64_t width = 768, heads = 12, vocabulary = 30522, words = 128;

struct EncoderLayer : nn::Module {
  nn::Linear query{width, width}, key{width, width}, value{width, width}, out{width, width};
  nn::Linear up{width, 4 * width}, down{4 * width, width};
  nn::LayerNorm norm1{{width}}, norm2{{width}};

  void list_parts(nn::Parts& parts) override {
    parts.module("query", query);
    parts.module("key", key);
    parts.module("value", value);
    parts.module("out", out);
    parts.module("norm1", norm1);
    parts.module("up", up);
    parts.module("down", down);
    parts.module("norm2", norm2);
  }
  static Tensor by_heads(const Tensor& x) {
    return bp::transpose(bp::unflatten(x, -1, {heads, width / heads}), 1, 2);
  }
  Tensor forward(const Tensor& x) const override {
    const Tensor seen =
        bp::scaled_dot_product_attention(by_heads(query(x)), by_heads(key(x)), by_heads(value(x)));
    const Tensor attended = norm1(x + out(bp::flatten(bp::transpose(seen, 1, 2), -2)));
    return norm2(attended + down(bp::gelu(up(attended))));
  }
};

struct Bert : nn::Module {
  nn::Embedding names{vocabulary, width}, places{512, width}, kinds{2, width};
  nn::LayerNorm norm{{width}};
  nn::Sequential layers;
  nn::Linear pooler{width, width};

  Bert() {
    for (int i = 0; i < 12; ++i) layers.append(EncoderLayer());
  }
  void list_parts(nn::Parts& parts) override {
    parts.module("names", names);
    parts.module("places", places);
    parts.module("kinds", kinds);
    parts.module("norm", norm);
    parts.module("layers", layers);
    parts.module("pooler", pooler);
  }
  Tensor forward(const Tensor& x) const override {
    const Tensor place = bp::slice(places.weight, 0, 0, words),
                 kind = bp::select(kinds.weight, 0, 0);
    const Tensor all = layers(norm(names(x) + place + kind));
    return bp::tanh(pooler(bp::select(all, 1, 0)));
  }
};

void report(const std::string& network, const nn::Module& net, const Tensor& x) {
  const double ns = bench::median_ns([&] { const Tensor y = net(x); });
  bench::report((network + "_batch_" + std::to_string(x.size(0))).c_str(), ns / 1e3, "us");
}

}  // namespace

void measure_inference() {
  bp::manual_seed(1);
  const bp::NoGrad not_recorded;
  {
    resnet::ResNet<resnet::Bottleneck> net({3, 4, 6, 3});
    net.eval();
    for (const std::int64_t batch : {1, 4})
      report("resnet50", net, bp::randn({batch, 3, 224, 224}));
  }
  Bert net;
  net.eval();
  for (const std::int64_t batch : {1, 4})
    report("bert_base", net, bp::randint(0, vocabulary, {batch, words}));
}
