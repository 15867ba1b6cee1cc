// PyTorch's ResNet-50 convolutions, forwards and back, on all cores.
#include <thread>
#include <torch/types.h>
#include <torch/utils.h>

#include "resnet_layers.hpp"

namespace {

struct Layer {
  torch::Tensor a, weight, gradient;
  bench::ConvolutionLayer sizes;

  void forward() const { torch::Tensor y = at::conv2d(a, weight, {}, sizes.stride, sizes.padding); }
  void backward() const {
    auto gradients = at::convolution_backward(
        gradient, a, weight, c10::nullopt, {sizes.stride, sizes.stride},
        {sizes.padding, sizes.padding}, {1, 1}, false, {0, 0}, 1, {sizes.from != 3, true, false});
  }
};

void measure_in(const char* suffix, at::MemoryFormat format) {
  bench::measure_layers(suffix, [&](const bench::ConvolutionLayer& l) {
    const auto picture = [&](int64_t channels, int64_t size) {
      return torch::randn({bench::layer_batch, channels, size, size}).contiguous(format);
    };
    return Layer{picture(l.from, l.size),
                 torch::randn({l.to, l.from, l.kernel, l.kernel}).contiguous(format),
                 picture(l.to, l.result_size()), l};
  });
}

}  // namespace

int main() {
  torch::set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
  torch::NoGradGuard no_grad;
  measure_in("", at::MemoryFormat::Contiguous);
  measure_in("_channels_last", at::MemoryFormat::ChannelsLast);
}
