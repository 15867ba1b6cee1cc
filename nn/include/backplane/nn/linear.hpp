// Layers that multiply by learned matrices, and Identity.
#pragma once

#include <backplane/loading/loader.hpp>
#include <backplane/nn/module.hpp>
#include <backplane/runtime/settings.hpp>

namespace bp::nn {

// Returns its input. A placeholder for another layer.
class BP_API Identity : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return x; }
};

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
  std::string extra_repr() const override;

  Parameter weight;  // [out_features, in_features]
  Parameter bias;    // [out_features], or absent
};

// [..., in1_features] and [..., in2_features] to [..., out_features]: for each result, x1 times a matrix times x2, plus
// bias. Both begin uniform in +-1 / sqrt(in1_features).
class BP_API Bilinear : public Module {
 public:
  Bilinear(std::int64_t in1_features, std::int64_t in2_features, std::int64_t out_features,
           const LinearOptions& options = {});
  void list_parts(Parts& parts) override;
  using Module::forward;
  Tensor forward(const Tensor& input1, const Tensor& input2) const;
  std::vector<Tensor> forward_all(std::span<const Tensor> inputs) const override;
  using Module::operator();
  Tensor operator()(const Tensor& input1, const Tensor& input2) const {
    return called(*this, input1, input2);
  }
  std::string extra_repr() const override;

  Parameter weight;  // [out_features, in1_features, in2_features]
  Parameter bias;    // [out_features], or absent
};

}  // namespace bp::nn
