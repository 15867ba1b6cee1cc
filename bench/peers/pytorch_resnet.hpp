// ResNets in PyTorch's C++, which training and inference share: those of bench/pairs/resnet.hpp.
#pragma once

#include <array>
#include <torch/torch.h>

namespace resnet {

using torch::Tensor;
namespace nn = torch::nn;

inline nn::Conv2d convolution(int64_t from, int64_t to, int64_t kernel, int64_t stride,
                              int64_t padding) {
  return nn::Conv2d(
      nn::Conv2dOptions(from, to, kernel).stride(stride).padding(padding).bias(false));
}

struct BlockImpl : nn::Module {
  nn::Conv2d conv1, conv2;
  nn::BatchNorm2d bn1, bn2;
  nn::Sequential downsample{nullptr};

  static constexpr int64_t widening = 1;

  BlockImpl(int64_t from, int64_t to, int64_t stride)
      : conv1(convolution(from, to, 3, stride, 1)), conv2(convolution(to, to, 3, 1, 1)), bn1(to),
        bn2(to) {
    register_module("conv1", conv1);
    register_module("bn1", bn1);
    register_module("conv2", conv2);
    register_module("bn2", bn2);
    if (stride == 1 && from == to) return;
    downsample = nn::Sequential(convolution(from, to, 1, stride, 0), nn::BatchNorm2d(to));
    register_module("downsample", downsample);
  }

  Tensor forward(const Tensor& x) {
    const Tensor inner = bn2(conv2(torch::relu(bn1(conv1(x)))));
    return torch::relu(inner + (downsample.is_empty() ? x : downsample->forward(x)));
  }
};
TORCH_MODULE(Block);

struct BottleneckImpl : nn::Module {
  nn::Conv2d conv1, conv2, conv3;
  nn::BatchNorm2d bn1, bn2, bn3;
  nn::Sequential downsample{nullptr};

  static constexpr int64_t widening = 4;

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

// Four groups of blocks, each twice as wide as the one before.
template <class Block> struct ResNet : nn::Module {
  static constexpr int64_t widening = Block::Impl::widening;
  nn::Conv2d conv1 = convolution(3, 64, 7, 2, 3);
  nn::BatchNorm2d bn1{64};
  nn::Sequential layers;
  nn::Linear fc{512 * widening, 1000};

  explicit ResNet(const std::array<int, 4>& counts) {
    int64_t from = 64, width = 64;
    for (const int count : counts) {
      for (int i = 0; i < count; ++i) {
        layers->push_back(Block(from, width, i == 0 && width > 64 ? 2 : 1));
        from = width * widening;
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

}  // namespace resnet
