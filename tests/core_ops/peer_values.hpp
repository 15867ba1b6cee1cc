// Inputs that any program can make, and values and gradients that PyTorch computed of them in float64.
#pragma once

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <span>
#include <vector>

#include <backplane/tensors.hpp>

namespace bp::test {

inline Tensor computed(IntList shape, const std::function<double(int)>& element) {
  std::vector<double> values(static_cast<std::size_t>(checked_numel("computed", shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = element(static_cast<int>(i));
  return tensor(values, shape);
}
inline Tensor sines() {
  return computed({4, 6}, [](int i) { return std::sin(1.3 * i + 0.2) * 2; });
}
inline Tensor cosines() {
  return computed({4, 6}, [](int i) { return std::cos(0.7 * i) * 1.5; });
}
inline Tensor parts() {
  return computed({4, 6}, [](int i) { return (i * 7 % 11 + 0.5) / 11; });
}
inline Tensor weights() {
  return tensor(std::vector<double>{0.5, 1.0, 2.0, 1.5, 0.25, 3.0});
}

inline void expect_values(const Tensor& actual, const std::vector<double>& expected) {
  const std::vector<double> values = to_vector<double>(actual);
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], 1e-12 * std::max(1.0, std::abs(expected[i])))
        << "element " << i;
}

using Leaves = std::span<const Tensor>;

// The results, and of each gradient of sum(result * cos(0, 1, 2 ...)) its sum times sin(1, 2, 3 ...).
inline void expect_peer(const std::function<Tensor(Leaves)>& function, std::vector<Tensor> inputs,
                        const std::vector<double>& results,
                        const std::vector<double>& gradient_sums) {
  for (const Tensor& input : inputs) set_requires_grad(input);
  const Tensor result = function(inputs);
  expect_values(detach(result), results);
  const Tensor factors =
      computed(result.shape(), [](int i) { return std::cos(static_cast<double>(i)); });
  const std::vector<Tensor> gradients = autograd::grad({sum(result * factors)}, inputs);
  ASSERT_EQ(gradients.size(), gradient_sums.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Tensor signs = computed(inputs[i].shape(), [](int k) { return std::sin(k + 1.0); });
    EXPECT_NEAR(item<double>(sum(gradients[i] * signs)), gradient_sums[i],
                1e-12 * std::max(1.0, std::abs(gradient_sums[i])))
        << "gradient of input " << i;
  }
}

// The message of the error that a call throws.
inline std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace bp::test
