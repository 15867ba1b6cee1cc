// A small convolutional network for images of 8x8 pixels.
#pragma once

#include <backplane/nn/layers.hpp>

namespace digits {

// A convolution, normed, a pooling that halves the size, another convolution, dropout, and a score for each digit.
struct Network : bp::nn::Module {
  explicit Network(bp::Device device);

  void list_parts(bp::nn::Parts& parts) override;
  // [batch, 1, 8, 8] to [batch, num_classes].
  bp::Tensor forward(const bp::Tensor& images) const override;

 private:
  bp::nn::Conv2d edges_;
  bp::nn::BatchNorm2d edge_norm_;
  bp::nn::Conv2d shapes_;
  bp::nn::BatchNorm2d shape_norm_;
  bp::nn::Dropout dropout_;
  bp::nn::Linear scores_;
};

}  // namespace digits
