#include "autoencoder.hpp"

#include <backplane/backplane.hpp>

namespace icons {
namespace {

using bp::Tensor;

constexpr std::int64_t channels[] = {3, 24, 48, 64};
constexpr std::int64_t smallest = icon_size / 8;  // after three halvings
constexpr std::int64_t num_smallest = channels[3] * smallest * smallest;

bp::nn::Conv2d halving(std::int64_t from, std::int64_t to, bp::Device device) {
  return bp::nn::Conv2d(from, to, 3, {.stride = 2, .padding = 1, .device = device});
}

bp::nn::ConvTranspose2d doubling(std::int64_t from, std::int64_t to, bp::Device device) {
  return bp::nn::ConvTranspose2d(from, to, 4, {.stride = 2, .padding = 1, .device = device});
}

}  // namespace

Autoencoder::Autoencoder(std::int64_t code_size, bp::Device device)
    : in1_(halving(channels[0], channels[1], device)),
      in2_(halving(channels[1], channels[2], device)),
      in3_(halving(channels[2], channels[3], device)), norm1_(channels[1], {.device = device}),
      norm2_(channels[2], {.device = device}), norm3_(channels[3], {.device = device}),
      to_code_(num_smallest, code_size, {.device = device}),
      from_code_(code_size, num_smallest, {.device = device}),
      out1_(doubling(channels[3], channels[2], device)),
      out2_(doubling(channels[2], channels[1], device)),
      out3_(doubling(channels[1], channels[0], device)), norm4_(channels[2], {.device = device}),
      norm5_(channels[1], {.device = device}) {}

void Autoencoder::list_parts(bp::nn::Parts& parts) {
  parts.module("in1", in1_);
  parts.module("norm1", norm1_);
  parts.module("in2", in2_);
  parts.module("norm2", norm2_);
  parts.module("in3", in3_);
  parts.module("norm3", norm3_);
  parts.module("to_code", to_code_);
  parts.module("from_code", from_code_);
  parts.module("out1", out1_);
  parts.module("norm4", norm4_);
  parts.module("out2", out2_);
  parts.module("norm5", norm5_);
  parts.module("out3", out3_);
}

Tensor Autoencoder::encode(const Tensor& icons) const {
  const Tensor first = bp::relu(norm1_(in1_(icons)));
  const Tensor second = bp::relu(norm2_(in2_(first)));
  return to_code_(bp::flatten(bp::relu(norm3_(in3_(second))), 1));
}

Tensor Autoencoder::decode(const Tensor& codes) const {
  const Tensor first =
      bp::relu(bp::unflatten(from_code_(codes), 1, {channels[3], smallest, smallest}));
  const Tensor second = bp::relu(norm4_(out1_(first)));
  return bp::sigmoid(out3_(bp::relu(norm5_(out2_(second)))));
}

}  // namespace icons
