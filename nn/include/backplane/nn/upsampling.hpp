// Layers that resize images.
#pragma once

#include <backplane/nn/module.hpp>
#include <backplane/nn/sizes.hpp>

namespace bp::nn {

struct UpsampleOptions {
  Sizes size = {};                        // this,
  std::vector<double> scale_factor = {};  // or one factor, or one for each dimension
  std::string mode =
      "nearest";  // "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area"
  std::optional<bool> align_corners = {};  // for the linear and cubic ones
  bool recompute_scale_factor =
      false;  // computes with the ratio of the sizes, not with the given factor
};

// [N, C, ...] with its last one to three dimensions resized.
class BP_API Upsample : public Module {
 public:
  explicit Upsample(const UpsampleOptions& options);
  Tensor forward(const Tensor& x) const override;
  std::string extra_repr() const override;

 private:
  UpsampleOptions options_;
};

struct UpsamplingOptions {
  Sizes size = {};
  std::vector<double> scale_factor = {};
};
// Upsample with mode "nearest" of [N, C, H, W].
class UpsamplingNearest2d : public Upsample {
 public:
  explicit UpsamplingNearest2d(const UpsamplingOptions& options)
      : Upsample({.size = options.size, .scale_factor = options.scale_factor}) {}
};
// Upsample with mode "bilinear" and align_corners.
class UpsamplingBilinear2d : public Upsample {
 public:
  explicit UpsamplingBilinear2d(const UpsamplingOptions& options)
      : Upsample({.size = options.size,
                  .scale_factor = options.scale_factor,
                  .mode = "bilinear",
                  .align_corners = true}) {}
};

}  // namespace bp::nn
