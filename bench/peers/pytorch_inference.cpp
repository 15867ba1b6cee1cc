// Whole networks forwards in PyTorch, in evaluation: those of bench/pairs/inference.cpp.
#include <string>
#include <thread>
#include <torch/torch.h>

#include "measure.hpp"

namespace {

using torch::Tensor;
namespace nn = torch::nn;

nn::Conv2d convolution(int64_t from, int64_t to, int64_t kernel, int64_t stride, int64_t padding) {
  return nn::Conv2d(
      nn::Conv2dOptions(from, to, kernel).stride(stride).padding(padding).bias(false));
}

struct BottleneckImpl : nn::Module {
  nn::Conv2d conv1, conv2, conv3;
  nn::BatchNorm2d bn1, bn2, bn3;
  nn::Sequential downsample{nullptr};

  BottleneckImpl(int64_t from, int64_t width, int64_t stride)
      : conv1(convolution(from, width, 1, 1, 0)), conv2(convolution(width, width, 3, stride, 1)),
        conv3(convolution(width, 4 * width, 1, 1, 0)), bn1(width), bn2(width), bn3(4 * width) {
    register_module("conv1", conv1);
    register_module("bn1", bn1);
    register_module("conv2", conv2);
    register_module("bn2", bn2);
    register_module("conv3", conv3);
    register_module("bn3", bn3);
    if (stride == 1 && from == 4 * width) return;
    downsample =
        nn::Sequential(convolution(from, 4 * width, 1, stride, 0), nn::BatchNorm2d(4 * width));
    register_module("downsample", downsample);
  }

  Tensor forward(const Tensor& x) {
    const Tensor narrow = torch::relu(bn2(conv2(torch::relu(bn1(conv1(x))))));
    return torch::relu(bn3(conv3(narrow)) + (downsample.is_empty() ? x : downsample->forward(x)));
  }
};
TORCH_MODULE(Bottleneck);

struct ResNet50 : nn::Module {
  nn::Conv2d conv1 = convolution(3, 64, 7, 2, 3);
  nn::BatchNorm2d bn1{64};
  nn::Sequential layers;
  nn::Linear fc{2048, 1000};

  ResNet50() {
    int64_t from = 64, width = 64;
    for (const int count : {3, 4, 6, 3}) {
      for (int i = 0; i < count; ++i) {
        layers->push_back(Bottleneck(from, width, i == 0 && width > 64 ? 2 : 1));
        from = 4 * width;
      }
      width *= 2;
    }
    register_module("conv1", conv1);
    register_module("bn1", bn1);
    register_module("layers", layers);
    register_module("fc", fc);
  }

  Tensor forward(const Tensor& x) {
    const Tensor stem = torch::max_pool2d(torch::relu(bn1(conv1(x))), 3, 2, 1);
    return fc(torch::adaptive_avg_pool2d(layers->forward(stem), {1, 1}).flatten(1));
  }
};

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
    ResNet50 net;
    net.eval();
    for (const int64_t batch : {1, 4}) report("resnet50", net, torch::randn({batch, 3, 224, 224}));
  }
  Bert net;
  for (const int64_t batch : {1, 4})
    report("bert_base", net, torch::randint(0, vocabulary, {batch, words}, torch::kLong));
}
