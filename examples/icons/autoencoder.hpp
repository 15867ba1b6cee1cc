// A convolutional autoencoder: an icon goes through a few numbers, and comes back as well as these allow.
#pragma once

#include <backplane/nn/layers.hpp>
#include <backplane/nn/module.hpp>

namespace icons {

inline constexpr std::int64_t icon_size = 32;  // pixels each way

class Autoencoder : public bp::nn::Module {
 public:
  // An icon becomes `code_size` numbers.
  Autoencoder(std::int64_t code_size, bp::Device device);
  void list_parts(bp::nn::Parts& parts) override;

  // [batch, 3, 32, 32] to [batch, code_size].
  bp::Tensor encode(const bp::Tensor& icons) const;
  // And back, to numbers from 0 to 1.
  bp::Tensor decode(const bp::Tensor& codes) const;
  bp::Tensor forward(const bp::Tensor& icons) const override { return decode(encode(icons)); }

 private:
  bp::nn::Conv2d in1_, in2_, in3_;
  bp::nn::BatchNorm2d norm1_, norm2_, norm3_;
  bp::nn::Linear to_code_, from_code_;
  bp::nn::ConvTranspose2d out1_, out2_, out3_;
  bp::nn::BatchNorm2d norm4_, norm5_;
};

}  // namespace icons
