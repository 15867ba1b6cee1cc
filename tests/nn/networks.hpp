// Networks for the tests of modules.
#pragma once

#include <backplane/nn/containers.hpp>
#include <backplane/nn/layers.hpp>

#include "autograd/tensors.hpp"

namespace bp::test {

using testing::HasSubstr;

inline Values numbers_of(const Tensor& a) {
  return values_of(cast(detach(a), f64));
}

inline bool is_close(const Tensor& a, const Tensor& b) {
  return allclose(detach(a), detach(b), 0, 1e-12);
}

struct Net : nn::Module {
  nn::Linear hidden{4, 3}, output{3, 2, {.bias = false}};
  void list_parts(nn::Parts& parts) override {
    parts.module("hidden", hidden);
    parts.module("output", output);
  }
  Tensor forward(const Tensor& x) const override { return output(relu(hidden(x))); }
};

// Counts what it saw in training, in a buffer.
struct Counting : nn::Module {
  nn::Parameter scale{ones({3})};
  Tensor num_seen = zeros({}, i64), bounds = full({3}, 0.5);
  void list_parts(nn::Parts& parts) override {
    parts.parameter("scale", scale);
    parts.buffer("num_seen", num_seen);
    parts.buffer("bounds", bounds, false);
  }
  Tensor forward(const Tensor& x) const override {
    if (is_training()) add_(num_seen, x.size(0));
    return x * scale + bounds;
  }
};

struct Relu : nn::Module {
  Tensor forward(const Tensor& x) const override { return relu(x); }
};

// Its decoder multiplies by the encoder's weight.
struct Tied : nn::Module {
  nn::Linear encoder{3, 3, {.bias = false}}, decoder{3, 3};
  Tied() { decoder.weight = encoder.weight; }
  void list_parts(nn::Parts& parts) override {
    parts.module("encoder", encoder);
    parts.module("decoder", decoder);
  }
  Tensor forward(const Tensor& x) const override { return decoder(encoder(x)); }
};

template <class Named> std::vector<std::string> names_of(const Named& all) {
  std::vector<std::string> names;
  for (const auto& entry : all) names.push_back(entry.first);
  return names;
}

}  // namespace bp::test
