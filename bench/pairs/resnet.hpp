// ResNets as torchvision has them, which training and inference share.
#pragma once

#include <array>

#include <backplane/nn/layers.hpp>
#include <backplane/tensors.hpp>

namespace resnet {

using bp::Tensor;
namespace nn = bp::nn;

struct Block : nn::Module {
  nn::Conv2d conv1, conv2;
  nn::BatchNorm2d bn1, bn2;
  nn::Sequential downsample;

  static constexpr std::int64_t widening = 1;

  Block(std::int64_t from, std::int64_t to, std::int64_t stride)
      : conv1(from, to, 3, {.stride = stride, .padding = 1, .bias = false}),
        conv2(to, to, 3, {.padding = 1, .bias = false}), bn1(to), bn2(to) {
    if (stride == 1 && from == to) return;
    downsample.append(nn::Conv2d(from, to, 1, {.stride = stride, .bias = false}));
    downsample.append(nn::BatchNorm2d(to));
  }
  void list_parts(nn::Parts& parts) override {
    parts.module("conv1", conv1);
    parts.module("bn1", bn1);
    parts.module("conv2", conv2);
    parts.module("bn2", bn2);
    parts.module("downsample", downsample);
  }
  Tensor forward(const Tensor& x) const override {
    const Tensor inner = bn2(conv2(bp::relu(bn1(conv1(x)))));
    return bp::relu(inner + downsample(x));
  }
};

struct Bottleneck : nn::Module {
  nn::Conv2d conv1, conv2, conv3;
  nn::BatchNorm2d bn1, bn2, bn3;
  nn::Sequential downsample;

  static constexpr std::int64_t widening = 4;

  Bottleneck(std::int64_t from, std::int64_t width, std::int64_t stride)
      : conv1(from, width, 1, {.bias = false}),
        conv2(width, width, 3, {.stride = stride, .padding = 1, .bias = false}),
        conv3(width, 4 * width, 1, {.bias = false}), bn1(width), bn2(width), bn3(4 * width) {
    if (stride == 1 && from == 4 * width) return;
    downsample.append(nn::Conv2d(from, 4 * width, 1, {.stride = stride, .bias = false}));
    downsample.append(nn::BatchNorm2d(4 * width));
  }
  void list_parts(nn::Parts& parts) override {
    parts.module("conv1", conv1);
    parts.module("bn1", bn1);
    parts.module("conv2", conv2);
    parts.module("bn2", bn2);
    parts.module("conv3", conv3);
    parts.module("bn3", bn3);
    parts.module("downsample", downsample);
  }
  Tensor forward(const Tensor& x) const override {
    const Tensor narrow = bp::relu(bn2(conv2(bp::relu(bn1(conv1(x))))));
    return bp::relu(bn3(conv3(narrow)) + downsample(x));
  }
};

// Four groups of blocks, each twice as wide as the one before.
template <class Block> struct ResNet : nn::Module {
  nn::Conv2d conv1{3, 64, 7, {.stride = 2, .padding = 3, .bias = false}};
  nn::BatchNorm2d bn1{64};
  nn::Sequential layers;
  nn::Linear fc{512 * Block::widening, 1000};

  explicit ResNet(const std::array<int, 4>& counts) {
    std::int64_t from = 64, width = 64;
    for (const int count : counts) {
      for (int i = 0; i < count; ++i) {
        layers.append(Block(from, width, i == 0 && width > 64 ? 2 : 1));
        from = width * Block::widening;
      }
      width *= 2;
    }
  }
  void list_parts(nn::Parts& parts) override {
    parts.module("conv1", conv1);
    parts.module("bn1", bn1);
    parts.module("layers", layers);
    parts.module("fc", fc);
  }
  Tensor forward(const Tensor& x) const override {
    const Tensor stem = bp::max_pool2d(bp::relu(bn1(conv1(x))), {3}, {2}, {1});
    return fc(bp::flatten(bp::adaptive_avg_pool2d(layers(stem), {1, 1}), 1));
  }
};

}  // namespace resnet
