#include "bench_layers.hpp"

#include <cmath>
#include <string>

#include "../peers/resnet_layers.hpp"
#include "on_device.hpp"

namespace bench {
namespace {

using bp::Tensor;

constexpr std::int64_t pictures = 32;

Tensor normal(bp::Device device, const std::vector<std::int64_t>& shape) {
  return bp::cast(bp::randn(shape, bp::f32, device), bp::bf16);
}

struct Layer {
  Tensor a, weight, gradient;
  ConvolutionLayer sizes;

  void forward() const {
    bp::convolution(a, weight, {}, {sizes.stride}, {sizes.padding}, {1}, false, {0}, 1);
  }
  void backward() const {
    const std::int64_t left = (sizes.size + 2 * sizes.padding - sizes.kernel) % sizes.stride;
    if (sizes.from != 3)
      bp::convolution(gradient, weight, {}, {sizes.stride}, {sizes.padding}, {1}, true, {left}, 1);
    bp::convolution_backward_weight(gradient, a, weight.shape(), {sizes.stride}, {sizes.padding},
                                    {1}, 1);
  }
};

Layer layer_on(bp::Device device, const ConvolutionLayer& l) {
  const auto last = [&](const std::vector<std::int64_t>& shape) {
    return bp::contiguous(normal(device, shape), bp::MemoryFormat::channels_last);
  };
  return {last({pictures, l.from, l.size, l.size}), last({l.to, l.from, l.kernel, l.kernel}),
          last({pictures, l.to, l.result_size(), l.result_size()}), l};
}

}  // namespace

void measure_attention(bp::Device device, const std::string& only) {
  const std::string name = "attention_8x16x4096x128_bf16";
  const auto is_asked = [&](const std::string& each) { return only.empty() || only == each; };
  if (!is_asked(name) && !is_asked(name + "_forward")) return;
  const auto heads = [&] { return normal(device, {8, 16, 4096, 128}); };
  const Tensor query = heads(), key = heads(), value = heads(), gradient = heads();
  if (is_asked(name + "_forward")) {
    const double ns =
        device_ns(device, [&] { bp::scaled_dot_product_attention(query, key, value); });
    report((name + "_forward").c_str(), ns / 1e3, "us");
  }
  if (!is_asked(name)) return;
  for (const Tensor& each : {query, key, value}) bp::set_requires_grad(each);
  const double ns = device_ns(device, [&] {
    for (const Tensor& each : {query, key, value}) bp::set_grad(each, {});
    bp::backward(bp::scaled_dot_product_attention(query, key, value), gradient);
  });
  report(name.c_str(), ns / 1e3, "us");
}

void measure_convolutions(bp::Device device) {
  constexpr double settling_ms = 20;  // 46 cases
  double forward = 0, backward = 0;
  for (const ConvolutionLayer& sizes : resnet_layers) {
    const Layer layer = layer_on(device, sizes);
    const auto note = [&](const char* way, double ns, double& logarithms) {
      report((sizes.name() + "_bf16_" + way).c_str(), ns / 1e3, "us");
      logarithms += std::log(ns / 1e3);
    };
    note("forward",
         device_ns(
             device, [&] { layer.forward(); }, settling_ms),
         forward);
    note("backward",
         device_ns(
             device, [&] { layer.backward(); }, settling_ms),
         backward);
  }
  constexpr double count = std::size(resnet_layers);
  report("convolutions_bf16_forward", std::exp(forward / count), "us");
  report("convolutions_bf16_backward", std::exp(backward / count), "us");
  report("convolutions_bf16", std::exp((forward + backward) / (2 * count)), "us");
}

}  // namespace bench
