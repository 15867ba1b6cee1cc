// needs: cpu
// Each variant of SGD against the same few steps in plain numbers.
#include <cmath>

#include <backplane/optim/sgd.hpp>

#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

// The minimum of sum((x - target)^2) is looked for from here.
const Values start{1.0, -2.0, 0.5};
const Values target{0.25, 1.0, 4.0};

Values after_steps(const optim::SGDOptions& options, int count) {
  const Tensor x = leaf(start);
  optim::SGD optimizer({x}, options);
  for (int i = 0; i < count; ++i) {
    optimizer.zero_grad();
    backward(sum(square(x - tensor(target))));
    optimizer.step();
  }
  return values_of(x);
}

Values expected_after(const optim::SGDOptions& options, int count) {
  Values x = start;
  Values velocity(x.size());
  for (int step = 0; step < count; ++step) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double g = 2 * (x[i] - target[i]) + options.weight_decay * x[i];
      const double fresh = step == 0 ? g : (1 - options.dampening) * g;
      velocity[i] = options.momentum * velocity[i] + fresh;
      x[i] -= options.lr * (options.nesterov       ? g + options.momentum * velocity[i]
                            : options.momentum > 0 ? velocity[i]
                                                   : g);
    }
  }
  return x;
}

TEST(Sgd, follows_its_formula_in_every_variant) {
  const optim::SGDOptions variants[] = {
      {.lr = 0.1},
      {.lr = 0.1, .weight_decay = 0.3},
      {.lr = 0.1, .momentum = 0.9},
      {.lr = 0.1, .momentum = 0.9, .dampening = 0.5},
      {.lr = 0.05, .momentum = 0.8, .weight_decay = 0.1, .nesterov = true},
  };
  for (const optim::SGDOptions& options : variants)
    for (int count : {1, 2, 7}) {
      const Values ours = after_steps(options, count);
      const Values expected = expected_after(options, count);
      for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], expected[i], 1e-12);
    }
}

TEST(Sgd, finds_the_minimum) {
  const Values found = after_steps({.lr = 0.1, .momentum = 0.5}, 200);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], target[i], 1e-9);
}

TEST(Sgd, leaves_a_parameter_without_a_gradient_as_it_is) {
  const Tensor used = leaf({1.0});
  const Tensor unused = leaf({5.0});
  optim::SGD optimizer({used, unused}, {.lr = 0.1});
  backward(sum(used * 3));
  optimizer.step();
  EXPECT_NEAR(values_of(used)[0], 0.7, 1e-15);
  EXPECT_EQ(values_of(unused), Values{5.0});
}

TEST(Sgd, is_not_recorded_and_gives_gradients_back) {
  const Tensor x = leaf({1.0});
  optim::SGD optimizer({x}, {.lr = 0.1, .momentum = 0.9});
  backward(sum(x * 3));
  optimizer.step();
  EXPECT_TRUE(is_leaf(x));
  optimizer.zero_grad();
  EXPECT_FALSE(grad(x).defined());
}

TEST(Sgd, says_what_is_wrong_with_its_options) {
  const Tensor x = leaf({1.0});
  const auto complaint = [&](const optim::SGDOptions& options) {
    return sentence_of([&] { optim::SGD({x}, options); });
  };
  EXPECT_THAT(complaint({.lr = -1}), testing::HasSubstr("lr is -1"));
  EXPECT_THAT(complaint({.momentum = -0.5}), testing::HasSubstr("momentum is -0.5"));
  EXPECT_THAT(complaint({.nesterov = true}), testing::HasSubstr("nesterov needs a momentum"));
  EXPECT_THAT(complaint({.lr = std::nan("")}), testing::HasSubstr("lr is nan"));
  EXPECT_THAT(sentence_of([] { optim::SGD(std::vector<Tensor>{}, {}); }),
              testing::HasSubstr("SGD got no parameters"));
}

}  // namespace
}  // namespace bp::test
