// needs: cpu reference
// Parameters by name, modules within modules, and the two layers against plain loops.
#include <backplane/nn/layers.hpp>

#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

Values numbers_of(const Tensor& a) {
  return values_of(cast(a, f64));
}

struct Net : nn::Module {
  nn::Linear hidden{4, 3}, output{3, 2, {.bias = false}};
  Net() {
    register_module("hidden", hidden);
    register_module("output", output);
  }
  Tensor forward(const Tensor& a) const { return output.forward(relu(hidden.forward(a))); }
};

struct Misnamed : nn::Module {
  Tensor a;
  explicit Misnamed(const char* second) {
    register_parameter("first", a);
    register_parameter(second, a);
  }
};

TEST(Modules, name_their_parameters_in_order) {
  const Net net;
  std::vector<std::string> names;
  for (const auto& [name, parameter] : net.named_parameters()) {
    names.push_back(name);
    EXPECT_TRUE(requires_grad(parameter)) << name;
  }
  EXPECT_THAT(names, ElementsAre("hidden.weight", "hidden.bias", "output.weight"));
  EXPECT_EQ(net.parameters().size(), 3u);
  EXPECT_EQ(net.num_parameters(), 4 * 3 + 3 + 3 * 2);
}

TEST(Modules, refuse_names_that_are_taken_or_no_names) {
  EXPECT_THAT(sentence_of([] { Misnamed("first"); }), testing::HasSubstr("named 'first' already"));
  EXPECT_THAT(sentence_of([] { Misnamed("a.b"); }), testing::HasSubstr("'a.b' cannot name"));
  EXPECT_THAT(sentence_of([] { Misnamed(""); }), testing::HasSubstr("'' cannot name"));
}

TEST(Modules, collect_gradients_and_forget_them) {
  Net net;
  backward(sum(net.forward(ones({5, 4}))));
  for (const Tensor& parameter : net.parameters())
    EXPECT_EQ(grad(parameter).shape(), parameter.shape());
  net.zero_grad();
  for (const Tensor& parameter : net.parameters()) EXPECT_FALSE(grad(parameter).defined());
}

TEST(Modules, move_to_another_device_with_their_values) {
  Net net;
  const Tensor x = ones({1, 4});
  const Values before = numbers_of(net.forward(x));
  net.to(device("reference:0"));
  for (const Tensor& parameter : net.parameters()) {
    EXPECT_EQ(parameter.device(), device("reference:0"));
    EXPECT_TRUE(requires_grad(parameter) && is_leaf(parameter));
  }
  const Values after = numbers_of(net.forward(to(x, device("reference:0"))));
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-6);
}

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
              testing::HasSubstr("4 input channels do not come apart into 3 groups"));
}

}  // namespace
}  // namespace bp::test
