// Whole networks forwards in PyTorch, in evaluation: those of bench/pairs/inference.cpp.
#include <string>
#include <thread>
#include <torch/torch.h>

#include "measure.hpp"
#include "pytorch_resnet.hpp"

namespace {

using torch::Tensor;
namespace nn = torch::nn;

constexpr int64_t width = 768, heads = 12, vocabulary = 30522, words = 128;

struct EncoderLayerImpl : nn::Module {
  nn::Linear query{width, width}, key{width, width}, value{width, width}, out{width, width};
  nn::Linear up{width, 4 * width}, down{4 * width, width};
  nn::LayerNorm norm1{nn::LayerNormOptions({width})}, norm2{nn::LayerNormOptions({width})};

  static Tensor by_heads(const Tensor& x) {
    return x.unflatten(-1, {heads, width / heads}).transpose(1, 2);
  }
  Tensor forward(const Tensor& x) {
    const Tensor seen =
        at::scaled_dot_product_attention(by_heads(query(x)), by_heads(key(x)), by_heads(value(x)));
    const Tensor attended = norm1(x + out(seen.transpose(1, 2).flatten(-2)));
    return norm2(attended + down(torch::gelu(up(attended))));
  }
};
TORCH_MODULE(EncoderLayer);

struct Bert {
  nn::Embedding names{vocabulary, width}, places{512, width}, kinds{2, width};
  nn::LayerNorm norm{nn::LayerNormOptions({width})};
  nn::Sequential layers;
  nn::Linear pooler{width, width};

  Bert() {
    for (int i = 0; i < 12; ++i) layers->push_back(EncoderLayer());
  }
  Tensor forward(const Tensor& x) {
    const Tensor place = places->weight.slice(0, 0, words), kind = kinds->weight.select(0, 0);
    const Tensor all = layers->forward(norm(names(x) + place + kind));
    return torch::tanh(pooler(all.select(1, 0)));
  }
};

template <class Net> void report(const std::string& network, Net& net, const Tensor& x) {
  const double ns = bench::median_ns([&] { const Tensor y = net.forward(x); });
  bench::report((network + "_batch_" + std::to_string(x.size(0))).c_str(), ns / 1e3, "us");
}

}  // namespace

int main() {
  torch::set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
  torch::manual_seed(1);
  const torch::NoGradGuard not_recorded;
  {
    resnet::ResNet<resnet::Bottleneck> net({3, 4, 6, 3});
    net.eval();
    for (const int64_t batch : {1, 4}) report("resnet50", net, torch::randn({batch, 3, 224, 224}));
  }
  Bert net;
  for (const int64_t batch : {1, 4})
    report("bert_base", net, torch::randint(0, vocabulary, {batch, words}, torch::kLong));
}
