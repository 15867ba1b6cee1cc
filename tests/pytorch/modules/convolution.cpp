#include <backplane/nn/convolution.hpp>

#include "pytorch/modules/families.hpp"

namespace bp::test {
namespace {

template <class M> Made convolving(Args& args) {
  nn::ConvOptions options;
  OPTION(stride);
  OPTION(padding);
  OPTION(dilation);
  OPTION(groups);
  OPTION(bias);
  OPTION(padding_mode);
  return made(M(args.get<std::int64_t>("in_channels"), args.get<std::int64_t>("out_channels"),
                args.get<nn::Sizes>("kernel_size"), options));
}

// A second input is output_size.
template <class M> Made transposed(Args& args) {
  nn::ConvTransposeOptions options;
  OPTION(stride);
  OPTION(padding);
  OPTION(output_padding);
  OPTION(groups);
  OPTION(bias);
  OPTION(dilation);
  OPTION(padding_mode);
  return made(M(args.get<std::int64_t>("in_channels"), args.get<std::int64_t>("out_channels"),
                args.get<nn::Sizes>("kernel_size"), options),
              [](const M& m, const Tensors& in) {
                return in.size() == 1 ? m.forward(in[0])
                                      : m.forward(in[0], to_vector<std::int64_t>(in[1]));
              });
}

}  // namespace

Makers convolution_modules() {
  return {
      {"Conv1d", convolving<nn::Conv1d>},
      {"Conv2d", convolving<nn::Conv2d>},
      {"Conv3d", convolving<nn::Conv3d>},
      {"ConvTranspose1d", transposed<nn::ConvTranspose1d>},
      {"ConvTranspose2d", transposed<nn::ConvTranspose2d>},
      {"ConvTranspose3d", transposed<nn::ConvTranspose3d>},
  };
}

}  // namespace bp::test
