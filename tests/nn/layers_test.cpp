// needs: cpu
// The two layers against plain loops.
#include "nn/networks.hpp"

namespace bp::test {
namespace {

TEST(Linear, begins_within_its_bound_and_multiplies_by_the_transposed_weight) {
  manual_seed(3);
  const nn::Linear layer(16, 3);
  const Values weight = numbers_of(layer.weight);
  const Values bias = numbers_of(layer.bias);
  for (double value : weight) EXPECT_LE(std::abs(value), 0.25);
  EXPECT_GT(*std::max_element(weight.begin(), weight.end()), 0.1);
  const Tensor x = rand({2, 16});
  const Values input = numbers_of(x);
  const Values result = numbers_of(layer.forward(x));
  for (std::size_t row = 0; row < 2; ++row)
    for (std::size_t unit = 0; unit < 3; ++unit) {
      double expected = bias[unit];
      for (std::size_t i = 0; i < 16; ++i) expected += input[row * 16 + i] * weight[unit * 16 + i];
      EXPECT_NEAR(result[row * 3 + unit], expected, 1e-6);
    }
}

TEST(Conv2d, slides_its_kernel_over_the_padded_image) {
  manual_seed(4);
  const nn::Conv2d layer(2, 3, 3, {.padding = 1});
  const Tensor x = rand({1, 2, 5, 4});
  const Values weight = numbers_of(layer.weight);
  const Values bias = numbers_of(layer.bias);
  const Values input = numbers_of(x);
  const Tensor result = layer.forward(x);
  ASSERT_EQ(result.shape(), Dims({1, 3, 5, 4}));
  const Values values = numbers_of(result);
  const auto pixel = [&](int channel, int y, int z) {
    return y < 0 || y >= 5 || z < 0 || z >= 4 ? 0.0 : input[(channel * 5 + y) * 4 + z];
  };
  for (int out = 0; out < 3; ++out)
    for (int y = 0; y < 5; ++y)
      for (int z = 0; z < 4; ++z) {
        double expected = bias[out];
        for (int channel = 0; channel < 2; ++channel)
          for (int dy = 0; dy < 3; ++dy)
            for (int dz = 0; dz < 3; ++dz)
              expected += weight[((out * 2 + channel) * 3 + dy) * 3 + dz] *
                          pixel(channel, y + dy - 1, z + dz - 1);
        EXPECT_NEAR(values[(out * 5 + y) * 4 + z], expected, 1e-5);
      }
}

TEST(Conv2d, refuses_groups_that_do_not_divide_its_channels) {
  EXPECT_THAT(sentence_of([] { nn::Conv2d(4, 6, 3, {.groups = 3}); }),
              testing::HasSubstr("4 input channels are not divisible into 3 groups"));
}

}  // namespace
}  // namespace bp::test
