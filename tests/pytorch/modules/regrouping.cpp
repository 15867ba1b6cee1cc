#include <backplane/nn/distance.hpp>
#include <backplane/nn/regrouping.hpp>
#include <backplane/nn/upsampling.hpp>

#include "pytorch/modules/families.hpp"

namespace bp::test {
namespace {

Made flatten_module(Args& args) {
  nn::FlattenOptions options;
  OPTION(start_dim);
  OPTION(end_dim);
  return made(nn::Flatten(options));
}

Made unflatten_module(Args& args) {
  return made(nn::Unflatten(args.get<std::int64_t>("dim"),
                            args.get<std::vector<std::int64_t>>("unflattened_size")));
}

nn::UnfoldOptions window_options(Args& args) {
  nn::UnfoldOptions options;
  OPTION(dilation);
  OPTION(padding);
  OPTION(stride);
  return options;
}

Made unfold_module(Args& args) {
  return made(nn::Unfold(args.get<nn::Sizes>("kernel_size"), window_options(args)));
}

Made fold_module(Args& args) {
  return made(nn::Fold(args.get<nn::Sizes>("output_size"), args.get<nn::Sizes>("kernel_size"),
                       window_options(args)));
}

Made upsample_module(Args& args) {
  nn::UpsampleOptions options;
  std::optional<bool> recompute;
  OPTION(size);
  OPTION(scale_factor);
  OPTION(mode);
  OPTION(align_corners);
  args.read("recompute_scale_factor", recompute);
  options.recompute_scale_factor = recompute.value_or(false);
  return made(nn::Upsample(options));
}

template <class M> Made upsampling(Args& args) {
  nn::UpsamplingOptions options;
  OPTION(size);
  OPTION(scale_factor);
  return made(M(options));
}

Made cosine_module(Args& args) {
  nn::CosineSimilarityOptions options;
  OPTION(dim);
  OPTION(eps);
  return made(nn::CosineSimilarity(options));
}

Made distance_module(Args& args) {
  nn::PairwiseDistanceOptions options;
  OPTION(p);
  OPTION(eps);
  OPTION(keepdim);
  return made(nn::PairwiseDistance(options));
}

}  // namespace

Makers regrouping_modules() {
  return {
      {"ChannelShuffle",
       [](Args& args) { return made(nn::ChannelShuffle(args.get<std::int64_t>("groups"))); }},
      {"CosineSimilarity", cosine_module},
      {"Flatten", flatten_module},
      {"Fold", fold_module},
      {"PairwiseDistance", distance_module},
      {"PixelShuffle",
       [](Args& args) { return made(nn::PixelShuffle(args.get<std::int64_t>("upscale_factor"))); }},
      {"PixelUnshuffle",
       [](Args& args) {
         return made(nn::PixelUnshuffle(args.get<std::int64_t>("downscale_factor")));
       }},
      {"Unflatten", unflatten_module},
      {"Unfold", unfold_module},
      {"Upsample", upsample_module},
      {"UpsamplingBilinear2d", upsampling<nn::UpsamplingBilinear2d>},
      {"UpsamplingNearest2d", upsampling<nn::UpsamplingNearest2d>},
  };
}

}  // namespace bp::test
