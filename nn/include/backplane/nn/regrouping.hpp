// Layers that rearrange their input into another shape or order.
#pragma once

#include <backplane/nn/stateless.hpp>

namespace bp::nn {

struct BP_API FlattenOptions {
  std::int64_t start_dim = 1;
  std::int64_t end_dim = -1;
  Tensor apply(const Tensor& x) const;
  std::string text() const;
};
// Dimensions from start_dim to end_dim as one.
class Flatten : public Stateless<FlattenOptions> {
  using Stateless::Stateless;
};

struct BP_API UnflattenOptions {
  std::int64_t dim = 1;
  std::vector<std::int64_t> unflattened_size;  // one may be -1
  void check() const;
  Tensor apply(const Tensor& x) const;
  std::string text() const;
};
// One dimension as several.
class Unflatten : public Stateless<UnflattenOptions> {
 public:
  Unflatten(std::int64_t dim, std::vector<std::int64_t> unflattened_size)
      : Stateless({.dim = dim, .unflattened_size = std::move(unflattened_size)}) {}
};

struct UnfoldOptions {
  Sizes dilation = 1;
  Sizes padding = 0;
  Sizes stride = 1;
};
// The windows of [N, C, H, W] as columns: [N, C * the window's elements, windows]. Without the batch, too.
class BP_API Unfold : public Module {
 public:
  explicit Unfold(const Sizes& kernel_size, const UnfoldOptions& options = {});
  Tensor forward(const Tensor& x) const override;
  std::string extra_repr() const override;

 private:
  Sizes kernel_size_;
  UnfoldOptions options_;
};

// The image of output_size in which each column is added at its window's place.
class BP_API Fold : public Module {
 public:
  Fold(const Sizes& output_size, const Sizes& kernel_size, const UnfoldOptions& options = {});
  Tensor forward(const Tensor& x) const override;
  std::string extra_repr() const override;

 private:
  Sizes output_size_, kernel_size_;
  UnfoldOptions options_;
};

struct BP_API PixelShuffleOptions {
  std::int64_t upscale_factor = 1;
  void check() const;
  Tensor apply(const Tensor& x) const;
  std::string text() const;
};
// [..., C * r * r, H, W] to [..., C, H * r, W * r] (Shi et al., Real-Time Single Image Super-Resolution, 2016).
class PixelShuffle : public Stateless<PixelShuffleOptions> {
 public:
  explicit PixelShuffle(std::int64_t upscale_factor)
      : Stateless({.upscale_factor = upscale_factor}) {}
};

struct BP_API PixelUnshuffleOptions {
  std::int64_t downscale_factor = 1;
  void check() const;
  Tensor apply(const Tensor& x) const;
  std::string text() const;
};
// PixelShuffle's inverse.
class PixelUnshuffle : public Stateless<PixelUnshuffleOptions> {
 public:
  explicit PixelUnshuffle(std::int64_t downscale_factor)
      : Stateless({.downscale_factor = downscale_factor}) {}
};

struct BP_API ChannelShuffleOptions {
  std::int64_t groups = 1;
  void check() const;
  Tensor apply(const Tensor& x) const;
  std::string text() const;
};
// The channels of [N, C, ...], from one group after the other in turn (Zhang et al., ShuffleNet, 2018).
class ChannelShuffle : public Stateless<ChannelShuffleOptions> {
 public:
  explicit ChannelShuffle(std::int64_t groups) : Stateless({.groups = groups}) {}
};

}  // namespace bp::nn
