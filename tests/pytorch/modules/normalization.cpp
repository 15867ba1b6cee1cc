#include <backplane/nn/normalization.hpp>

#include "pytorch/modules/families.hpp"

namespace bp::test {
namespace {

template <class M, class Options> Made running_norm(Args& args) {
  Options options;
  OPTION(eps);
  OPTION(momentum);
  OPTION(affine);
  OPTION(track_running_stats);
  OPTION(bias);
  return made(M(args.get<std::int64_t>("num_features"), options));
}

Made layer_norm_module(Args& args) {
  nn::LayerNormOptions options;
  OPTION(eps);
  OPTION(elementwise_affine);
  OPTION(bias);
  return made(nn::LayerNorm(args.get<nn::Sizes>("normalized_shape"), options));
}

Made rms_norm_module(Args& args) {
  nn::RMSNormOptions options;
  OPTION(eps);
  OPTION(elementwise_affine);
  return made(nn::RMSNorm(args.get<nn::Sizes>("normalized_shape"), options));
}

Made group_norm_module(Args& args) {
  nn::GroupNormOptions options;
  OPTION(eps);
  OPTION(affine);
  OPTION(bias);
  return made(nn::GroupNorm(args.get<std::int64_t>("num_groups"),
                            args.get<std::int64_t>("num_channels"), options));
}

template <class M, class Options> Made response_norm(Args& args) {
  Options options;
  OPTION(alpha);
  OPTION(beta);
  OPTION(k);
  return made(M(args.get<std::int64_t>("size"), options));
}

}  // namespace

Makers normalization_modules() {
  return {
      {"BatchNorm1d", running_norm<nn::BatchNorm1d, nn::BatchNormOptions>},
      {"BatchNorm2d", running_norm<nn::BatchNorm2d, nn::BatchNormOptions>},
      {"BatchNorm3d", running_norm<nn::BatchNorm3d, nn::BatchNormOptions>},
      {"GroupNorm", group_norm_module},
      {"InstanceNorm1d", running_norm<nn::InstanceNorm1d, nn::InstanceNormOptions>},
      {"InstanceNorm2d", running_norm<nn::InstanceNorm2d, nn::InstanceNormOptions>},
      {"InstanceNorm3d", running_norm<nn::InstanceNorm3d, nn::InstanceNormOptions>},
      {"LayerNorm", layer_norm_module},
      {"LocalResponseNorm", response_norm<nn::LocalResponseNorm, nn::LocalResponseNormOptions>},
      {"RMSNorm", rms_norm_module},
  };
}

}  // namespace bp::test
