#include "convolutions.hpp"

#include <backplane/tensors.hpp>

#include "../peers/resnet_layers.hpp"

namespace {

struct Layer {
  bp::Tensor a, weight, gradient;
  bench::ConvolutionLayer sizes;

  void forward() const {
    const bp::Tensor y = bp::conv2d(a, weight, {}, {sizes.stride}, {sizes.padding});
  }
  void backward() const {
    const std::int64_t left = (sizes.size + 2 * sizes.padding - sizes.kernel) % sizes.stride;
    if (sizes.from != 3)
      const bp::Tensor by_a = bp::convolution(gradient, weight, {}, {sizes.stride}, {sizes.padding},
                                              {1}, true, {left}, 1);
    const bp::Tensor by_weight = bp::convolution_backward_weight(
        gradient, a, weight.shape(), {sizes.stride}, {sizes.padding}, {1}, 1);
  }
};

void measure_in(const char* suffix, bp::MemoryFormat format) {
  bench::measure_layers(suffix, [&](const bench::ConvolutionLayer& l) {
    const auto picture = [&](std::int64_t channels, std::int64_t size) {
      return bp::contiguous(bp::randn({bench::layer_batch, channels, size, size}), format);
    };
    return Layer{picture(l.from, l.size),
                 bp::contiguous(bp::randn({l.to, l.from, l.kernel, l.kernel}), format),
                 picture(l.to, l.result_size()), l};
  });
}

}  // namespace

void measure_convolutions() {
  measure_in("", bp::MemoryFormat::contiguous);
  measure_in("_channels_last", bp::MemoryFormat::channels_last);
}
