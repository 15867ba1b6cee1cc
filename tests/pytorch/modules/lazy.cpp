#include <backplane/nn/lazy.hpp>

#include "pytorch/modules/families.hpp"

namespace bp::test {
namespace {

// As Python's side: called once with `dry` before anything is compared.
template <class M> Made materialized(M module, Args& args) {
  nn::materialize(module, args.get<Tensor>("dry"));
  return made(std::move(module), [](const M& m, const Tensors& in) { return m(in[0]); });
}

Made lazy_linear(Args& args) {
  nn::LinearOptions options;
  OPTION(bias);
  return materialized(nn::LazyLinear(args.get<std::int64_t>("out_features"), options), args);
}

template <class M> Made lazy_convolution(Args& args) {
  nn::ConvOptions options;
  OPTION(stride);
  OPTION(padding);
  OPTION(dilation);
  OPTION(groups);
  OPTION(bias);
  return materialized(
      M(args.get<std::int64_t>("out_channels"), args.get<nn::Sizes>("kernel_size"), options), args);
}

template <class M> Made lazy_transposed(Args& args) {
  nn::ConvTransposeOptions options;
  OPTION(stride);
  OPTION(padding);
  OPTION(output_padding);
  OPTION(groups);
  OPTION(bias);
  OPTION(dilation);
  return materialized(
      M(args.get<std::int64_t>("out_channels"), args.get<nn::Sizes>("kernel_size"), options), args);
}

template <class M, class Options> Made lazy_norm(Args& args) {
  Options options;
  OPTION(eps);
  OPTION(momentum);
  OPTION(affine);
  OPTION(track_running_stats);
  OPTION(bias);
  return materialized(M(options), args);
}

}  // namespace

Makers lazy_modules() {
  return {
      {"LazyLinear", lazy_linear},
      {"LazyConv1d", lazy_convolution<nn::LazyConv1d>},
      {"LazyConv2d", lazy_convolution<nn::LazyConv2d>},
      {"LazyConv3d", lazy_convolution<nn::LazyConv3d>},
      {"LazyConvTranspose1d", lazy_transposed<nn::LazyConvTranspose1d>},
      {"LazyConvTranspose2d", lazy_transposed<nn::LazyConvTranspose2d>},
      {"LazyConvTranspose3d", lazy_transposed<nn::LazyConvTranspose3d>},
      {"LazyBatchNorm1d", lazy_norm<nn::LazyBatchNorm1d, nn::BatchNormOptions>},
      {"LazyBatchNorm2d", lazy_norm<nn::LazyBatchNorm2d, nn::BatchNormOptions>},
      {"LazyBatchNorm3d", lazy_norm<nn::LazyBatchNorm3d, nn::BatchNormOptions>},
      {"LazyInstanceNorm1d", lazy_norm<nn::LazyInstanceNorm1d, nn::LazyInstanceNormOptions>},
      {"LazyInstanceNorm2d", lazy_norm<nn::LazyInstanceNorm2d, nn::LazyInstanceNormOptions>},
      {"LazyInstanceNorm3d", lazy_norm<nn::LazyInstanceNorm3d, nn::LazyInstanceNormOptions>},
  };
}

}  // namespace bp::test
