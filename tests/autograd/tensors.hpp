// Leaves, values and sentences for the tests of autograd.
#pragma once

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <backplane/tensors.hpp>

namespace bp::test {

using testing::ElementsAre;
using Values = std::vector<double>;

// f64 on the host, which requires grad.
inline Tensor leaf(const Values& values) {
  const Tensor made = tensor(values);
  return set_requires_grad(made);
}

inline Values values_of(const Tensor& a) {
  return a.defined() ? to_vector<double>(cpu(detach(a))) : Values{};
}

inline std::string sentence_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

// The derivative of sum(output) by one input.
inline Tensor derivative(const Tensor& output, const Tensor& input,
                         const autograd::BackwardOptions& options = {}) {
  const Tensor total = sum(output);
  return autograd::grad({total}, {input}, {}, options)[0];
}

}  // namespace bp::test
