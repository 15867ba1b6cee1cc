// The layers of small networks. What has no parameters is an operator: relu, max_pool2d, flatten.
#pragma once

#include <backplane/loading/loader.hpp>
#include <backplane/nn/module.hpp>
#include <backplane/runtime/settings.hpp>

namespace bp::nn {

struct LinearOptions {
  bool bias = true;
  Dtype dtype = default_dtype();
  Device device = default_device();
};

// [..., in_features] to [..., out_features]: x times the transposed weight, plus bias. Both begin uniform in
// +-1 / sqrt(in_features), from the device's generator.
class BP_API Linear : public Module {
 public:
  Linear(std::int64_t in_features, std::int64_t out_features, const LinearOptions& options = {});
  void list_parts(Parts& parts) override;
  Tensor forward(const Tensor& input) const override;

  Parameter weight;  // [out_features, in_features]
  Parameter bias;    // [out_features], or absent
};

struct Conv2dOptions {
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  Dtype dtype = default_dtype();
  Device device = default_device();
};

// [batch, in_channels, height, width] to [batch, out_channels, ...], with a square kernel. Weight and bias begin uniform
// in +-1 / sqrt(in_channels / groups * kernel_size^2), from the device's generator.
class BP_API Conv2d : public Module {
 public:
  Conv2d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size,
         const Conv2dOptions& options = {});
  void list_parts(Parts& parts) override;
  Tensor forward(const Tensor& input) const override;

  Parameter weight;  // [out_channels, in_channels / groups, kernel_size, kernel_size]
  Parameter bias;    // [out_channels], or absent

 private:
  Conv2dOptions options_;
};

}  // namespace bp::nn
