#include <backplane/nn/linear.hpp>
#include <backplane/nn/sizes.hpp>
#include <backplane/tensor/check.hpp>

#include "initial.hpp"

namespace bp::nn {

Linear::Linear(std::int64_t in_features, std::int64_t out_features, const LinearOptions& options) {
  BP_CHECK(in_features >= 0 && out_features >= 0,
           "Linear: {} to {} features; pass numbers of 0 or more", in_features, out_features);
  const double bound = bound_of(static_cast<double>(in_features));
  weight = uniform_parameter({out_features, in_features}, bound, options);
  if (options.bias) bias = uniform_parameter({out_features}, bound, options);
}

void Linear::list_parts(Parts& parts) {
  parts.parameter("weight", weight);
  parts.parameter("bias", bias);
}

Tensor Linear::forward(const Tensor& input) const {
  return linear(input, weight, bias);
}

std::string Linear::extra_repr() const {
  return fmt::format("in_features={}, out_features={}, bias={}", weight.size(1), weight.size(0),
                     repr(bias.defined()));
}

Bilinear::Bilinear(std::int64_t in1_features, std::int64_t in2_features, std::int64_t out_features,
                   const LinearOptions& options) {
  BP_CHECK(in1_features > 0, "Bilinear: in1_features is {}; pass 1 or more", in1_features);
  BP_CHECK(in2_features >= 0 && out_features >= 0,
           "Bilinear: in2_features is {} and out_features {}; pass numbers of 0 or more",
           in2_features, out_features);
  const double bound = bound_of(static_cast<double>(in1_features));
  weight = uniform_parameter({out_features, in1_features, in2_features}, bound, options);
  if (options.bias) bias = uniform_parameter({out_features}, bound, options);
}

void Bilinear::list_parts(Parts& parts) {
  parts.parameter("weight", weight);
  parts.parameter("bias", bias);
}

Tensor Bilinear::forward(const Tensor& input1, const Tensor& input2) const {
  return bilinear(input1, input2, weight, bias);
}

std::vector<Tensor> Bilinear::forward_all(std::span<const Tensor> inputs) const {
  BP_CHECK(inputs.size() == 2, "Bilinear: got {} tensors; pass two", inputs.size());
  return {forward(inputs[0], inputs[1])};
}

std::string Bilinear::extra_repr() const {
  return fmt::format("in1_features={}, in2_features={}, out_features={}, bias={}", weight.size(1),
                     weight.size(2), weight.size(0), repr(bias.defined()));
}

}  // namespace bp::nn
