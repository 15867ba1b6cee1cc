// needs: cpu reference
// Members that are computed. tests/pytorch/modules/parametrized.py holds the functions to PyTorch's.
#include <backplane/nn/attention.hpp>
#include <backplane/nn/parametrizations.hpp>

#include "nn/networks.hpp"

namespace bp::test {
namespace {

namespace parametrize = nn::utils::parametrize;
namespace parametrizations = nn::utils::parametrizations;
using Tensors = std::vector<Tensor>;

// Any module will do.
struct Doubled : nn::Module {
  Tensor forward(const Tensor& x) const override { return x * 2; }
};
struct Halves : nn::Parametrization {
  Tensor forward(const Tensor& x) const override { return x * 2; }
  Tensors right_inverse(const Tensor& value) const override { return {value / 2}; }
};
struct Product : nn::Parametrization {
  using Module::forward;
  Tensors forward_all(std::span<const Tensor> x) const override { return {x[0] * x[1]}; }
  Tensors right_inverse(const Tensor& value) const override { return {value, ones({1})}; }
};

TEST(Parametrize, computes_a_member_at_each_call) {
  nn::Linear layer(4, 3);
  const Tensor x = rand({2, 4}), weight = layer.weight, bias = layer.bias;
  parametrize::register_parametrization(layer, "weight", Doubled{});
  EXPECT_EQ(numbers_of(layer(x)), numbers_of(linear(x, weight * 2, bias)));
  EXPECT_EQ(numbers_of(parametrize::value(layer, "weight")), numbers_of(weight * 2));
  EXPECT_EQ(numbers_of(parametrize::value(layer, "bias")), numbers_of(bias));
  EXPECT_THAT(names_of(layer.state_dict()),
              ElementsAre("bias", "parametrizations.weight.original"));
  // The only original is the tensor that an optimizer may hold already.
  EXPECT_TRUE(layer.parameters()[1].is_same(weight));
  backward(sum(layer(x)));
  EXPECT_EQ(grad(weight).shape(), weight.shape());
  fill_(detach(weight), 1);
  EXPECT_EQ(numbers_of(layer(x)), numbers_of(linear(x, full({3, 4}, 2.0), bias)));
  EXPECT_TRUE(parametrize::is_parametrized(layer) && parametrize::is_parametrized(layer, "weight"));
  EXPECT_FALSE(parametrize::is_parametrized(layer, "bias"));
}

TEST(Parametrize, begins_at_the_present_value_where_there_is_a_way_back) {
  nn::Linear layer(4, 3);
  const Tensor x = rand({2, 4});
  const Values before = numbers_of(layer(x)), weight = numbers_of(layer.weight);
  parametrize::register_parametrization(layer, "weight", Halves{});
  EXPECT_EQ(numbers_of(layer(x)), before);
  parametrize::register_parametrization(layer, "bias", Product{});
  EXPECT_EQ(numbers_of(layer(x)), before);
  EXPECT_THAT(names_of(layer.state_dict()),
              ElementsAre("parametrizations.weight.original", "parametrizations.bias.original0",
                          "parametrizations.bias.original1"));
  parametrize::set_value(layer, "weight", full({3, 4}, 6));
  EXPECT_EQ(numbers_of(layer.parameters()[0])[0], 3);
  EXPECT_EQ(numbers_of(parametrize::value(layer, "weight"))[0], 6);
}

TEST(Parametrize, chains_parametrizations_of_one_member) {
  nn::Linear layer(4, 3);
  const Tensor weight = layer.weight;
  parametrize::register_parametrization(layer, "weight", Halves{});
  parametrize::register_parametrization(layer, "weight", Halves{});
  EXPECT_EQ(numbers_of(parametrize::value(layer, "weight")), numbers_of(weight * 4));
  EXPECT_EQ(nn::to_string(layer), R"(ParametrizedLinear(
  in_features=4, out_features=3, bias=True
  (parametrizations): ModuleDict(
    (weight): ParametrizationList(
      (0-1): 2 x Halves()
    )
  )
))");
}

struct Noisy : nn::Module {
  Tensor forward(const Tensor& x) const override { return is_training() ? x * 3 : x; }
};

TEST(Parametrize, brings_a_later_one_into_the_modules_mode) {
  nn::Linear layer(4, 3);
  layer.eval();
  const Values before = numbers_of(layer.weight);
  parametrize::register_parametrization(layer, "weight", Halves{});
  parametrize::register_parametrization(layer, "weight", Noisy{});
  EXPECT_EQ(numbers_of(parametrize::value(layer, "weight")), before);
}

TEST(Parametrize, takes_a_value_of_the_members_shape_alone) {
  nn::Linear layer(4, 3);
  parametrize::register_parametrization(layer, "weight", Halves{});
  const Values before = numbers_of(parametrize::value(layer, "weight"));
  EXPECT_THAT([&] { parametrize::set_value(layer, "weight", ones({4})); },
              testing::ThrowsMessage<Error>(HasSubstr("has shape [3, 4] and [4] is given")));
  EXPECT_THAT(
      [&] {
        parametrize::set_value(layer, "weight", ones({3, 4}, complex64));
      },
      testing::ThrowsMessage<Error>(
          HasSubstr("is float32 and complex64 is given for it, which would lose its "
                    "imaginary part")));
  EXPECT_EQ(numbers_of(parametrize::value(layer, "weight")), before);
}

TEST(Parametrize, ends_with_the_computed_value_or_the_original) {
  const Tensor x = rand({2, 4});
  for (bool leave : {true, false}) {
    nn::Linear layer(4, 3);
    const Tensor weight = layer.weight;
    parametrize::register_parametrization(layer, "weight", Doubled{});
    const Values computed = numbers_of(parametrize::value(layer, "weight"));
    const Values original = numbers_of(weight);
    parametrize::remove_parametrizations(layer, "weight", leave);
    EXPECT_EQ(numbers_of(layer.weight), leave ? computed : original);
    EXPECT_TRUE(layer.weight.is_same(weight) && is_leaf(layer.weight));
    EXPECT_THAT(names_of(layer.state_dict()), ElementsAre("weight", "bias"));
    EXPECT_EQ(numbers_of(layer(x)), numbers_of(layer.forward(x)));
    EXPECT_EQ(nn::to_string(layer), "Linear(in_features=4, out_features=3, bias=True)");
  }
  nn::Linear layer(4, 3);
  parametrize::register_parametrization(layer, "weight", Product{});
  EXPECT_THAT(sentence_of([&] { parametrize::remove_parametrizations(layer, "weight", false); }),
              HasSubstr("'weight' has 2 originals"));
  parametrize::remove_parametrizations(layer, "weight");
  EXPECT_TRUE(requires_grad(layer.weight) && is_leaf(layer.weight));
  EXPECT_THAT(sentence_of([&] { parametrize::remove_parametrizations(layer, "weight"); }),
              HasSubstr("'weight' of Linear is not parametrized"));
}

TEST(Parametrize, holds_in_networks_copies_and_clones) {
  nn::Linear layer(4, 4);
  parametrizations::weight_norm(layer);
  nn::Sequential net(layer, Relu{});
  EXPECT_THAT(names_of(net.state_dict()),
              ElementsAre("0.bias", "0.parametrizations.weight.original0",
                          "0.parametrizations.weight.original1"));
  EXPECT_TRUE(net.parameters()[1].is_same(layer.parameters()[1]));
  nn::Sequential copy = nn::clone(net);
  const Tensor x = rand({2, 4});
  EXPECT_EQ(numbers_of(copy(x)), numbers_of(net(x)));
  EXPECT_FALSE(copy.parameters()[1].shares_storage(net.parameters()[1]));
  copy.to(device("reference:0"), f64);
  EXPECT_EQ(copy(to(x, device("reference:0"), f64)).dtype(), f64);
  net.load_state_dict(copy.state_dict());
  copy.requires_grad_(false);
  for (const Tensor& parameter : copy.parameters()) EXPECT_FALSE(requires_grad(parameter));
}

TEST(Parametrize, works_beside_hooks_and_names_paths_in_errors) {
  nn::MultiheadAttention attention(4, 2);
  parametrize::register_parametrization(attention, "in_proj_weight", Doubled{});
  int calls = 0;
  attention.register_forward_hook([&](const nn::Module& module, auto, auto) {
    EXPECT_EQ(&module, &attention);
    ++calls;
    return Tensors{};
  });
  const Tensor x = rand({3, 1, 4});
  EXPECT_EQ(attention(x, x, x).output.shape(), Dims({3, 1, 4}));
  EXPECT_EQ(calls, 1);
  attention.out_proj = nn::MultiheadAttention(6, 2).out_proj;
  EXPECT_THAT(sentence_of([&] { attention(x, x, x); }), testing::StartsWith("out_proj: linear"));
}

TEST(Parametrize, is_loud_where_forward_is_called_without_it) {
  nn::Linear layer(4, 3);
  parametrize::register_parametrization(layer, "bias", Doubled{});
  EXPECT_NE(sentence_of([&] { layer.forward(rand({2, 4})); }), "no error");
}

TEST(Parametrize, computes_buffers_as_well) {
  Counting module;
  const Tensor bounds = module.bounds;
  parametrize::register_parametrization(module, "bounds", Doubled{});
  EXPECT_EQ(numbers_of(module(zeros({1, 3}))), (Values{1, 1, 1}));
  EXPECT_THAT(names_of(module.named_buffers()),
              ElementsAre("num_seen", "parametrizations.bounds.original"));
  EXPECT_FALSE(requires_grad(bounds));
}

TEST(Parametrize, refuses_what_cannot_be_and_changes_nothing) {
  nn::Linear layer(4, 3);
  const Values before = numbers_of(layer.weight);
  struct Shrinking : nn::Parametrization {
    Tensor forward(const Tensor& x) const override { return narrow(x, 0, 0, 1); }
    Tensors right_inverse(const Tensor& value) const override { return {value * 9}; }
  };
  const auto sentence = [&](const char* name, const nn::AnyModule& by) {
    return sentence_of([&] { parametrize::register_parametrization(layer, name, by); });
  };
  EXPECT_THAT(sentence("weight", Shrinking{}),
              HasSubstr("'weight' is float32 [3, 4] and its parametrization gives float32 [1, 4]"));
  EXPECT_EQ(numbers_of(layer.weight), before);
  EXPECT_FALSE(parametrize::is_parametrized(layer));
  EXPECT_THAT(sentence("kernel", Doubled{}), HasSubstr("no parameter or buffer 'kernel'"));
  Net net;
  struct Wider : Net {
  } wider;
  Net& base = wider;
  EXPECT_THAT(
      sentence_of([&] { parametrize::register_parametrization(base, "weight", Doubled{}); }),
      HasSubstr("a base of Wider"));
}

TEST(WeightNorm, separates_length_from_direction) {
  nn::Linear layer(4, 3, {.dtype = f64});
  const Values weight = numbers_of(layer.weight);
  parametrizations::weight_norm(layer);
  const nn::StateDict dict = layer.state_dict();
  EXPECT_EQ(dict.at("parametrizations.weight.original0").shape(), Dims({3, 1}));
  const Values now = numbers_of(parametrize::value(layer, "weight"));
  for (std::size_t i = 0; i < now.size(); ++i) EXPECT_NEAR(now[i], weight[i], 1e-15);
  fill_(dict.at("parametrizations.weight.original0"), 2);
  for (double length : numbers_of(norm(parametrize::value(layer, "weight"), 2, 1)))
    EXPECT_NEAR(length, 2, 1e-12);
}

TEST(WeightNorm, of_a_vector_takes_each_element_apart) {
  nn::Linear layer(4, 3, {.dtype = f64});
  const Values bias = numbers_of(layer.bias);
  parametrizations::weight_norm(layer, "bias");
  const Values now = numbers_of(parametrize::value(layer, "bias"));
  for (std::size_t i = 0; i < now.size(); ++i) EXPECT_NEAR(now[i], bias[i], 1e-15);
  parametrizations::weight_norm(layer, "weight", -1);
  EXPECT_EQ(layer.state_dict().at("parametrizations.weight.original0").numel(), 1);
}

TEST(SpectralNorm, finds_the_largest_singular_value) {
  manual_seed(2);
  nn::Linear layer(6, 5, {.dtype = f64});
  parametrizations::spectral_norm(layer, "weight", 5);
  EXPECT_THAT(names_of(layer.state_dict()),
              ElementsAre("bias", "parametrizations.weight.original",
                          "parametrizations.weight.0._u", "parametrizations.weight.0._v"));
  for (int i = 0; i < 100; ++i) layer(rand({1, 6}, f64));
  layer.eval();
  const Tensor weight = parametrize::value(layer, "weight");
  EXPECT_NEAR(numbers_of(linalg_svdvals(weight))[0], 1, 1e-6);
  const Values u = numbers_of(layer.buffers()[0]);
  layer(rand({1, 6}, f64));
  EXPECT_EQ(numbers_of(layer.buffers()[0]), u);
}

TEST(Orthogonal, begins_near_the_value_and_stays_orthonormal) {
  for (const char* map : {"matrix_exp", "cayley", "householder"})
    for (const auto& [in, out] : {std::pair{4, 4}, {3, 5}, {5, 3}}) {
      nn::Linear layer(in, out, {.dtype = f64});
      parametrizations::orthogonal(layer, "weight", {.orthogonal_map = map});
      const Tensor original = layer.parameters()[1];
      for (int step = 0; step < 2; ++step) {
        const Tensor weight = detach(parametrize::value(layer, "weight"));
        const Tensor gram = in < out ? matmul(transpose(weight, 0, 1), weight)
                                     : matmul(weight, transpose(weight, 0, 1));
        EXPECT_TRUE(allclose(gram, eye(gram.size(0), gram.size(0), f64), 0, 1e-10)) << map;
        const Tensor noise = tril(rand({out, in}, f64), -1);
        copy_(detach(original), detach(original) + noise);
      }
    }
}

}  // namespace
}  // namespace bp::test
