#include <backplane/nn/pooling.hpp>

#include "pytorch/modules/families.hpp"

namespace bp::test {
namespace {

// return_indices is a call of its own.
template <class M> Made with_indices(M module, Args& args) {
  bool return_indices = false;
  args.read("return_indices", return_indices);
  return made(std::move(module), [=](const M& m, const Tensors& in) -> Tensors {
    if (!return_indices) return {m.forward(in[0])};
    const auto [values, indices] = m.forward_with_indices(in[0]);
    return {values, indices};
  });
}

template <class M> Made max_pooling(Args& args) {
  nn::MaxPoolOptions options;
  OPTION(stride);
  OPTION(padding);
  OPTION(dilation);
  OPTION(ceil_mode);
  return with_indices(M(args.get<nn::Sizes>("kernel_size"), options), args);
}

template <class M> Made mean_pooling(Args& args) {
  nn::AvgPoolOptions options;
  OPTION(stride);
  OPTION(padding);
  OPTION(ceil_mode);
  OPTION(count_include_pad);
  OPTION(divisor_override);
  return made(M(args.get<nn::Sizes>("kernel_size"), options));
}

template <class M> Made norm_pooling(Args& args) {
  nn::LPPoolOptions options;
  OPTION(stride);
  OPTION(ceil_mode);
  return made(M(args.get<double>("norm_type"), args.get<nn::Sizes>("kernel_size"), options));
}

nn::OutputSizes output_sizes(Args& args) {
  std::vector<std::optional<std::int64_t>> sizes;
  args.read("output_size", sizes);
  if (!args.is_list("output_size"))
    return sizes[0] ? nn::OutputSizes(*sizes[0]) : nn::OutputSizes(std::nullopt);
  return sizes;
}

template <class M> Made adaptive_mean(Args& args) {
  return made(M(output_sizes(args)));
}

template <class M> Made adaptive_max(Args& args) {
  return with_indices(M(output_sizes(args)), args);
}

template <class M> Made fractional(Args& args) {
  nn::FractionalMaxPoolOptions options;
  OPTION(output_size);
  OPTION(output_ratio);
  args.read("_random_samples", options.random_samples);
  return with_indices(M(args.get<nn::Sizes>("kernel_size"), options), args);
}

// A third input is output_size.
template <class M> Made unpooling(Args& args) {
  nn::MaxUnpoolOptions options;
  OPTION(stride);
  OPTION(padding);
  return made(M(args.get<nn::Sizes>("kernel_size"), options), [](const M& m, const Tensors& in) {
    return in.size() == 2 ? m.forward(in[0], in[1])
                          : m.forward(in[0], in[1], to_vector<std::int64_t>(in[2]));
  });
}

}  // namespace

Makers pooling_modules() {
  return {
      {"AdaptiveAvgPool1d", adaptive_mean<nn::AdaptiveAvgPool1d>},
      {"AdaptiveAvgPool2d", adaptive_mean<nn::AdaptiveAvgPool2d>},
      {"AdaptiveAvgPool3d", adaptive_mean<nn::AdaptiveAvgPool3d>},
      {"AdaptiveMaxPool1d", adaptive_max<nn::AdaptiveMaxPool1d>},
      {"AdaptiveMaxPool2d", adaptive_max<nn::AdaptiveMaxPool2d>},
      {"AdaptiveMaxPool3d", adaptive_max<nn::AdaptiveMaxPool3d>},
      {"AvgPool1d", mean_pooling<nn::AvgPool1d>},
      {"AvgPool2d", mean_pooling<nn::AvgPool2d>},
      {"AvgPool3d", mean_pooling<nn::AvgPool3d>},
      {"FractionalMaxPool2d", fractional<nn::FractionalMaxPool2d>},
      {"FractionalMaxPool3d", fractional<nn::FractionalMaxPool3d>},
      {"LPPool1d", norm_pooling<nn::LPPool1d>},
      {"LPPool2d", norm_pooling<nn::LPPool2d>},
      {"LPPool3d", norm_pooling<nn::LPPool3d>},
      {"MaxPool1d", max_pooling<nn::MaxPool1d>},
      {"MaxPool2d", max_pooling<nn::MaxPool2d>},
      {"MaxPool3d", max_pooling<nn::MaxPool3d>},
      {"MaxUnpool1d", unpooling<nn::MaxUnpool1d>},
      {"MaxUnpool2d", unpooling<nn::MaxUnpool2d>},
      {"MaxUnpool3d", unpooling<nn::MaxUnpool3d>},
  };
}

}  // namespace bp::test
