// Convolutions over one to three dimensions, and transposed ones.
#pragma once

#include <backplane/loading/loader.hpp>
#include <backplane/nn/module.hpp>
#include <backplane/nn/sizes.hpp>
#include <backplane/runtime/settings.hpp>

namespace bp::nn {

struct ConvOptions {
  Sizes stride = 1;
  ConvPadding padding = 0;
  Sizes dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  std::string padding_mode = "zeros";  // or "reflect", "replicate", "circular"
  Dtype dtype = default_dtype();
  Device device = default_device();
};
using Conv1dOptions = ConvOptions;
using Conv2dOptions = ConvOptions;
using Conv3dOptions = ConvOptions;

struct ConvTransposeOptions {
  Sizes stride = 1;
  Sizes padding = 0;
  Sizes output_padding = 0;
  std::int64_t groups = 1;
  bool bias = true;
  Sizes dilation = 1;
  std::string padding_mode = "zeros";  // there is no other
  Dtype dtype = default_dtype();
  Device device = default_device();
};

// The base of all convolutions: sizes for each dimension, weight and bias, which begin uniform in
// +-1 / sqrt(n), where n is the number of elements of weight[0], from the device's generator.
class BP_API Convolution : public Module {
 public:
  void list_parts(Parts& parts) override;
  std::string extra_repr() const override;

  Parameter
      weight;  // [out_channels, in_channels / groups, kernel_size...]; transposed: [in, out / groups, ...]
  Parameter bias;  // [out_channels], or absent

 protected:
  struct Made {
    std::int64_t in_channels, out_channels;
    Sizes kernel_size, stride;
    ConvPadding padding;
    Sizes dilation, output_padding;
    std::int64_t groups;
    std::string padding_mode;
  };
  Convolution(const char* layer, std::size_t rank, std::int64_t in_channels,
              std::int64_t out_channels, const Sizes& kernel_size, const ConvOptions& options);
  Convolution(const char* layer, std::size_t rank, std::int64_t in_channels,
              std::int64_t out_channels, const Sizes& kernel_size,
              const ConvTransposeOptions& options);
  const char* layer_name() const { return layer_; }
  const Made& made() const { return made_; }
  // The input, padded as padding_mode or an uneven "same" requires, and what the operator pads besides.
  std::pair<Tensor, std::vector<std::int64_t>> padded(const Tensor& input) const;

 private:
  void begin(bool transposed, bool has_bias, Dtype dtype, Device device);

  const char* layer_;
  Made made_;
};

// [batch, in_channels, length] to [batch, out_channels, ...], or both without the batch. Throws bad_argument for groups
// that do not divide the channels, sizes below their least, and "same" with a stride.
class BP_API Conv1d : public Convolution {
 public:
  Conv1d(std::int64_t in_channels, std::int64_t out_channels, const Sizes& kernel_size,
         const Conv1dOptions& options = {});
  Tensor forward(const Tensor& input) const override;
};
// As Conv1d, over height and width.
class BP_API Conv2d : public Convolution {
 public:
  Conv2d(std::int64_t in_channels, std::int64_t out_channels, const Sizes& kernel_size,
         const Conv2dOptions& options = {});
  Tensor forward(const Tensor& input) const override;
};
// As Conv1d, over depth, height and width.
class BP_API Conv3d : public Convolution {
 public:
  Conv3d(std::int64_t in_channels, std::int64_t out_channels, const Sizes& kernel_size,
         const Conv3dOptions& options = {});
  Tensor forward(const Tensor& input) const override;
};

// The derivative of a convolution with respect to its input, as a layer. If several output sizes
// are possible, `output_size` chooses one; throws bad_argument for an impossible one.
class BP_API TransposedConvolution : public Convolution {
 public:
  Tensor forward(const Tensor& input) const override { return forward(input, IntList()); }
  Tensor forward(const Tensor& input, IntList output_size) const;
  using Module::operator();
  Tensor operator()(const Tensor& input, IntList output_size) const {
    return call({input}, [&](const Module& self, std::span<const Tensor> in) {
      const auto& layer = static_cast<const TransposedConvolution&>(self);
      return std::vector<Tensor>{layer.forward(in[0], output_size)};
    })[0];
  }

 protected:
  using Convolution::Convolution;

 private:
  // The output_padding that makes `output_size`, with or without batch and channels; empty: the layer's own.
  std::vector<std::int64_t> output_padding_for(const Tensor& input, IntList output_size) const;
};

class BP_API ConvTranspose1d : public TransposedConvolution {
 public:
  ConvTranspose1d(std::int64_t in_channels, std::int64_t out_channels, const Sizes& kernel_size,
                  const ConvTransposeOptions& options = {});
};
class BP_API ConvTranspose2d : public TransposedConvolution {
 public:
  ConvTranspose2d(std::int64_t in_channels, std::int64_t out_channels, const Sizes& kernel_size,
                  const ConvTransposeOptions& options = {});
};
class BP_API ConvTranspose3d : public TransposedConvolution {
 public:
  ConvTranspose3d(std::int64_t in_channels, std::int64_t out_channels, const Sizes& kernel_size,
                  const ConvTransposeOptions& options = {});
};

}  // namespace bp::nn
