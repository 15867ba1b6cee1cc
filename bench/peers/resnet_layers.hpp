// The distinct convolutions of ResNet-50 on pictures of 224x224, which both sides measure.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "measure.hpp"

namespace bench {

struct ConvolutionLayer {
  int64_t from, to, size, kernel, stride, padding;

  std::string name() const {
    return "conv_" + std::to_string(from) + "_" + std::to_string(to) + "_" + std::to_string(size) +
           "_k" + std::to_string(kernel) + "_s" + std::to_string(stride);
  }
  int64_t result_size() const { return (size + 2 * padding - kernel) / stride + 1; }
};

inline constexpr int64_t layer_batch = 4;
inline constexpr ConvolutionLayer resnet_layers[] = {
    {3, 64, 224, 7, 2, 3},    {64, 64, 56, 1, 1, 0},    {64, 64, 56, 3, 1, 1},
    {64, 256, 56, 1, 1, 0},   {256, 64, 56, 1, 1, 0},   {256, 128, 56, 1, 1, 0},
    {128, 128, 56, 3, 2, 1},  {128, 512, 28, 1, 1, 0},  {256, 512, 56, 1, 2, 0},
    {512, 128, 28, 1, 1, 0},  {128, 128, 28, 3, 1, 1},  {512, 256, 28, 1, 1, 0},
    {256, 256, 28, 3, 2, 1},  {256, 1024, 14, 1, 1, 0}, {512, 1024, 28, 1, 2, 0},
    {1024, 256, 14, 1, 1, 0}, {256, 256, 14, 3, 1, 1},  {1024, 512, 14, 1, 1, 0},
    {512, 512, 14, 3, 2, 1},  {512, 2048, 7, 1, 1, 0},  {1024, 2048, 14, 1, 2, 0},
    {2048, 512, 7, 1, 1, 0},  {512, 512, 7, 3, 1, 1},
};

// Reports each layer's time forwards and back (both gradients; the first layer's weight alone, since nobody
// needs the gradients of pictures), and their geometric mean. `make(layer)` gives what has those two calls.
template <class Make> void measure_layers(const std::string& suffix, const Make& make) {
  double logarithms = 0;
  int count = 0;
  const auto note = [&](const std::string& name, double ns) {
    report((name + suffix).c_str(), ns / 1e3, "us");
    logarithms += std::log(ns / 1e3);
    ++count;
  };
  for (const ConvolutionLayer& layer : resnet_layers) {
    const auto pair = make(layer);
    note(layer.name() + "_forward", median_ns([&] { pair.forward(); }));
    note(layer.name() + "_backward", median_ns([&] { pair.backward(); }));
  }
  report(("convolutions" + suffix).c_str(), std::exp(logarithms / count), "us");
}

}  // namespace bench
