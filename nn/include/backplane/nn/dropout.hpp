// Layers that drop parts of their input at random in training, drawing from the device's generator, and do nothing
// otherwise.
#pragma once

#include <backplane/nn/stateless.hpp>

namespace bp::nn {

struct BP_API DropoutOptions {
  double p = 0.5;  // the probability that a number is dropped
  bool inplace = false;
  void check() const;
  std::string text() const;
};

// Which elements are dropped together, and what replaces them.
struct BP_API DropEach : DropoutOptions {
  Tensor apply(const Tensor& x, bool training) const;
};
template <int spatial_rank> struct BP_API DropChannels : DropoutOptions {
  Tensor apply(const Tensor& x, bool training) const;
};
struct BP_API DropToAlpha : DropoutOptions {
  Tensor apply(const Tensor& x, bool training) const;
};
struct BP_API DropChannelsToAlpha : DropoutOptions {
  Tensor apply(const Tensor& x, bool training) const;
};

template <class What> class DropoutLayer : public Stateless<What> {
 public:
  explicit DropoutLayer(const DropoutOptions& options = {}) : Stateless<What>(What{options}) {}
};

// Zeroes elements and divides the others by 1 - p (Hinton et al., Improving neural networks by preventing co-adaptation
// of feature detectors, 2012).
class Dropout : public DropoutLayer<DropEach> {
  using DropoutLayer::DropoutLayer;
};
// Zero whole channels: of [N, C, L] or [C, L]; of [N, C, H, W] or [N, C, L]; of [N, C, D, H, W] or [C, D, H, W].
class Dropout1d : public DropoutLayer<DropChannels<1>> {
  using DropoutLayer::DropoutLayer;
};
class Dropout2d : public DropoutLayer<DropChannels<2>> {
  using DropoutLayer::DropoutLayer;
};
class Dropout3d : public DropoutLayer<DropChannels<3>> {
  using DropoutLayer::DropoutLayer;
};
// Put elements, or channels of [N, C, ...], to the value that SELU approaches far below 0, and keep
// mean and variance (Klambauer et al., Self-Normalizing Neural Networks, 2017).
class AlphaDropout : public DropoutLayer<DropToAlpha> {
  using DropoutLayer::DropoutLayer;
};
class FeatureAlphaDropout : public DropoutLayer<DropChannelsToAlpha> {
  using DropoutLayer::DropoutLayer;
};

}  // namespace bp::nn
