// needs: cpu reference
// An optimizer goes on after its parameters moved to another device or dtype, or were frozen.
#include <functional>

#include <backplane/nn/layers.hpp>
#include <backplane/optim/sgd.hpp>

#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

const optim::SGDOptions with_momentum{
    .lr = 0.05, .momentum = 0.9, .weight_decay = 0.1, .nesterov = true};

// Steps towards one target; after the second of four, `between` happens.
std::vector<Values> trained(const std::function<void(nn::Linear&)>& between) {
  manual_seed(5);
  nn::Linear layer(3, 2, {.dtype = f64});
  optim::SGD optimizer(layer.parameters(), with_momentum);
  const Tensor x = rand({4, 3}, f64), target = rand({4, 2}, f64);
  for (int i = 0; i < 4; ++i) {
    if (i == 2) between(layer);
    optimizer.zero_grad();
    const Device device = layer.weight.device();
    const Dtype dtype = layer.weight.dtype();
    backward(sum(square(layer(to(x, device, dtype)) - to(target, device, dtype))));
    optimizer.step();
  }
  std::vector<Values> result;
  for (const Tensor& parameter : layer.parameters())
    result.push_back(values_of(to(parameter, f64)));
  return result;
}

void expect_near(const std::vector<Values>& found, const std::vector<Values>& expected,
                 double room) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    for (std::size_t k = 0; k < expected[i].size(); ++k)
      EXPECT_NEAR(found[i][k], expected[i][k], room);
}

TEST(Optimizers, go_on_with_their_momentum_on_another_device) {
  const auto expected = trained([](nn::Linear&) {});
  const auto moved = trained([](nn::Linear& layer) { layer.to(device("reference:0")); });
  expect_near(moved, expected, 1e-12);
  const auto there_and_back = trained([](nn::Linear& layer) {
    layer.to(device("reference:0"));
    layer.to(device("cpu"));
  });
  expect_near(there_and_back, expected, 1e-12);
}

TEST(Optimizers, go_on_with_their_momentum_in_another_dtype) {
  const auto expected = trained([](nn::Linear&) {});
  const auto moved = trained([](nn::Linear& layer) { layer.to(f32); });
  expect_near(moved, expected, 1e-5);
}

TEST(Optimizers, step_with_gradients_that_moved_along) {
  nn::Linear layer(2, 1, {.bias = false});
  optim::SGD optimizer(layer.parameters(), {.lr = 1});
  const Values before = values_of(to(layer.weight, f64));
  backward(sum(layer(ones({1, 2}))));
  layer.to(device("reference:0"), f64);
  optimizer.step();
  const Values after = values_of(layer.weight);
  EXPECT_EQ(layer.weight.device(), device("reference:0"));
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i], before[i] - 1);
}

TEST(Optimizers, leave_what_was_frozen_since) {
  nn::Linear layer(2, 1);
  optim::SGD optimizer(layer.parameters(), {.lr = 1});
  layer.requires_grad_(false);
  const Values before = values_of(to(layer.weight, f64));
  optimizer.zero_grad();
  optimizer.step();
  EXPECT_EQ(values_of(to(layer.weight, f64)), before);
}

}  // namespace
}  // namespace bp::test
