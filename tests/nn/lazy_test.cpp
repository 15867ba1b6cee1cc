// needs: cpu
// Layers that learn the size of their input later.
#include <backplane/nn/init.hpp>
#include <backplane/nn/parametrizations.hpp>

#include "nn/networks.hpp"

namespace bp::test {
namespace {

using testing::ElementsAre;

nn::Sequential lazy_images() {
  return nn::Sequential(nn::LazyConv2d(4, 3), nn::LazyBatchNorm2d(), nn::ReLU(), nn::Flatten(),
                        nn::LazyLinear(2));
}

// A lazy layer of each class, the layer that it becomes of 4 channels, and an input.
struct Pair {
  nn::AnyModule lazy, eager;
  Tensor input;
};
std::vector<Pair> all_pairs() {
  const Tensor x1 = rand({2, 4, 5}), x2 = rand({2, 4, 5, 5}), x3 = rand({2, 4, 5, 5, 5});
  const nn::ConvOptions groups{.groups = 2};
  const nn::ConvTransposeOptions back{.groups = 2};
  const nn::InstanceNormOptions state{.affine = true, .track_running_stats = true};
  return {{nn::LazyLinear(3), nn::Linear(5, 3), x1},
          {nn::LazyConv1d(6, 3, groups), nn::Conv1d(4, 6, 3, groups), x1},
          {nn::LazyConv2d(6, 3, groups), nn::Conv2d(4, 6, 3, groups), x2},
          {nn::LazyConv3d(6, 3, groups), nn::Conv3d(4, 6, 3, groups), x3},
          {nn::LazyConvTranspose1d(6, 3, back), nn::ConvTranspose1d(4, 6, 3, back), x1},
          {nn::LazyConvTranspose2d(6, 3, back), nn::ConvTranspose2d(4, 6, 3, back), x2},
          {nn::LazyConvTranspose3d(6, 3, back), nn::ConvTranspose3d(4, 6, 3, back), x3},
          {nn::LazyBatchNorm1d(), nn::BatchNorm1d(4), x1},
          {nn::LazyBatchNorm2d(), nn::BatchNorm2d(4), x2},
          {nn::LazyBatchNorm3d(), nn::BatchNorm3d(4), x3},
          {nn::LazyInstanceNorm1d(), nn::InstanceNorm1d(4, state), x1},
          {nn::LazyInstanceNorm2d(), nn::InstanceNorm2d(4, state), x2},
          {nn::LazyInstanceNorm3d(), nn::InstanceNorm3d(4, state), x3}};
}

void expect_same_state(const nn::Module& a, const nn::Module& b) {
  const nn::StateDict ours = a.state_dict(), theirs = b.state_dict();
  ASSERT_EQ(names_of(ours), names_of(theirs));
  for (const auto& [name, tensor] : ours) EXPECT_TRUE(equal(tensor, theirs.at(name))) << name;
}

TEST(Lazy, each_layer_becomes_the_one_that_a_known_size_makes) {
  for (auto& [lazy, eager, x] : all_pairs()) {
    SCOPED_TRACE(eager->type_name());
    EXPECT_EQ(lazy->type_name(), "Lazy" + eager->type_name());
    EXPECT_EQ(lazy->state_dict().size(), 0U);
    EXPECT_EQ(lazy->num_parameters(), 0);
    nn::materialize(*lazy, x);
    EXPECT_EQ(nn::to_string(*lazy), nn::to_string(*eager));
    EXPECT_TRUE(lazy->is_training());
    lazy->load_state_dict(eager->state_dict());
    EXPECT_TRUE(equal(detach((*lazy)(x)), detach((*eager)(x))));
    expect_same_state(*lazy, *eager);
  }
}

TEST(Lazy, each_layer_takes_its_size_from_a_state_dict) {
  for (auto& [lazy, eager, x] : all_pairs()) {
    SCOPED_TRACE(eager->type_name());
    lazy->load_state_dict(eager->state_dict());
    EXPECT_EQ(nn::to_string(*lazy), nn::to_string(*eager));
    expect_same_state(*lazy, *eager);
    EXPECT_TRUE(equal(detach((*lazy)(x)), detach((*eager)(x))));
  }
}

TEST(Lazy, each_layer_says_what_to_do_when_it_is_called_too_early) {
  for (auto& [lazy, eager, x] : all_pairs()) {
    const nn::Sequential net({{"layer", lazy}, {"after", nn::ReLU()}});
    EXPECT_THAT(sentence_of([&] { net(x); }),
                testing::AllOf(testing::StartsWith("layer: " + lazy->type_name() + ": "),
                               HasSubstr("nn::materialize(model, x)")));
  }
  const nn::LazyConvTranspose1d back(6, 3);
  EXPECT_THAT(sentence_of([&] { back(rand({2, 4, 5}), {7}); }), HasSubstr("nn::materialize"));
}

TEST(Lazy, each_layer_refuses_an_input_of_no_size_and_stays_lazy) {
  for (auto& [lazy, eager, x] : all_pairs()) {
    EXPECT_THAT(sentence_of([&] { nn::materialize(*lazy, zeros({})); }),
                HasSubstr("the input is []; pass "));
    EXPECT_THAT(sentence_of([&] { nn::materialize(*lazy, Tensor()); }), HasSubstr("undefined"));
    EXPECT_EQ(lazy->type_name(), "Lazy" + eager->type_name());
    nn::materialize(*lazy, x);
  }
}

TEST(Lazy, layers_draw_what_their_constructors_draw) {
  manual_seed(7);
  const nn::Linear eager(5, 3);
  manual_seed(7);
  nn::LazyLinear lazy(3);
  nn::materialize(lazy, ones({2, 5}));
  expect_same_state(lazy, eager);
}

TEST(Lazy, networks_materialize_without_a_trace_in_statistics_modes_and_records) {
  nn::Sequential net = lazy_images();
  net[1].eval();
  nn::materialize(net, rand({2, 3, 6, 6}));
  const auto& norm = nn::module_as<nn::BatchNorm2d>(net[1]);
  EXPECT_THAT(numbers_of(norm.running_mean), testing::Each(0));
  EXPECT_EQ(item<double>(norm.num_batches_tracked), 0);
  EXPECT_FALSE(norm.is_training());
  EXPECT_TRUE(net.is_training() && net[0].is_training());
  EXPECT_EQ(nn::module_as<nn::Linear>(net[4]).weight.shape()[1], 64);
  EXPECT_TRUE(requires_grad(net(rand({2, 3, 6, 6}))));
  EXPECT_THAT(sentence_of([&] { net(rand({2, 5, 6, 6})); }), testing::StartsWith("0: conv2d: "));
}

TEST(Lazy, layers_print_sizes_of_0_before) {
  EXPECT_EQ(nn::to_string(nn::LazyLinear(10)),
            "LazyLinear(in_features=0, out_features=10, bias=True)");
  EXPECT_EQ(nn::to_string(nn::LazyConv2d(8, 3, {.bias = false})),
            "LazyConv2d(0, 8, kernel_size=(3, 3), stride=(1, 1), bias=False)");
}

TEST(Lazy, layers_remember_dtype_and_requires_grad) {
  nn::Sequential net = lazy_images();
  net.to(f64);
  net.requires_grad_(false);
  nn::materialize(net, rand({2, 3, 6, 6}, f64));
  for (const auto& [name, tensor] : net.named_parameters()) {
    EXPECT_EQ(tensor.dtype(), f64) << name;
    EXPECT_FALSE(requires_grad(tensor)) << name;
  }
  net.to(meta_device);
  nn::LazyLinear moved(3);
  moved.to(meta_device);
  nn::materialize(moved, empty({2, 4}, f32, meta_device));
  EXPECT_EQ(moved.weight.device(), meta_device);
}

TEST(Lazy, copies_get_parameters_of_their_own) {
  nn::Sequential net = lazy_images();
  nn::Sequential copy = nn::clone(net);
  nn::materialize(net, rand({2, 3, 6, 6}));
  EXPECT_EQ(copy.num_parameters(), 0);
  nn::materialize(copy, rand({2, 1, 6, 6}));
  EXPECT_EQ(nn::module_as<nn::Conv2d>(copy[0]).weight.shape()[1], 1);
  nn::Sequential third = nn::clone(net);
  expect_same_state(third, net);
}

TEST(Lazy, init_and_hooks_work_before_and_after) {
  nn::LazyLinear layer(2);
  int calls = 0;
  nn::HookHandle hook = layer.register_forward_hook([&](const auto&...) {
    ++calls;
    return std::vector<Tensor>();
  });
  nn::materialize(layer, ones({1, 3}));
  layer.apply(
      [](nn::Module& module) { nn::init::ones_(nn::module_as<nn::Linear>(module).weight); });
  nn::init::zeros_(layer.bias);
  EXPECT_THAT(numbers_of(layer(ones({1, 3}))), ElementsAre(3, 3));
  EXPECT_EQ(calls, 2);
  hook.remove();
  layer(ones({1, 3}));
  EXPECT_EQ(calls, 2);
}

// Calls one layer twice, and another not at all unless it is told to.
struct Branches : nn::Module {
  nn::LazyLinear shared{3}, rare{2};
  void list_parts(nn::Parts& parts) override {
    parts.module("shared", shared);
    parts.module("rare", rare);
  }
  Tensor forward(const Tensor& x) const override { return shared(shared(x)); }
};

TEST(Lazy, materialize_names_layers_that_the_call_did_not_reach) {
  Branches net;
  EXPECT_THAT(sentence_of([&] {
                nn::materialize(net, ones({1, 3}));
              }),
              HasSubstr("did not reach 'rare'"));
  EXPECT_TRUE(net.shared.is_materialized());
  nn::materialize(net, [&] { net.rare(net(ones({1, 3}))); });
  EXPECT_TRUE(net.rare.is_materialized());
  nn::materialize(net, Tensor());  // calls nothing any more
}

TEST(Lazy, materialize_keeps_what_was_made_when_the_call_throws) {
  nn::Sequential net(nn::LazyLinear(3), nn::Linear(4, 2), nn::LazyLinear(1));
  EXPECT_THAT(sentence_of([&] {
                nn::materialize(net, ones({1, 5}));
              }),
              testing::StartsWith("1: linear: "));
  EXPECT_TRUE(net.is_training());
  EXPECT_EQ(net[0].type_name(), "Linear");
  EXPECT_EQ(net[2].type_name(), "LazyLinear");
  nn::materialize(net, [&] { net[2](ones({1, 2})); });
  EXPECT_EQ(net[2].type_name(), "Linear");
}

struct Scaled : nn::Module {
  nn::Parameter scale{full({3}, 2.0)};
  nn::LazyLinear inner{2};
  void list_parts(nn::Parts& parts) override {
    parts.parameter("scale", scale);
    parts.module("inner", inner);
  }
  Tensor forward(const Tensor& x) const override { return inner(x * scale); }
};

TEST(Lazy, layers_below_a_parametrized_module_materialize) {
  Scaled net;
  nn::utils::parametrize::register_parametrization(net, "scale", Relu());
  const Tensor x = rand({2, 3});
  nn::materialize(net, x);
  EXPECT_TRUE(net.inner.is_materialized());
  EXPECT_TRUE(is_close(net(x), net.inner(x * 2)));
}

TEST(Lazy, layers_are_not_parametrized_before) {
  nn::LazyLinear layer(2);
  EXPECT_THAT(sentence_of([&] {
                nn::utils::parametrize::register_parametrization(layer, "weight", Relu());
              }),
              HasSubstr("nn::materialize"));
  EXPECT_THAT(sentence_of([&] { nn::utils::parametrizations::weight_norm(layer); }),
              HasSubstr("nn::materialize"));
  EXPECT_THAT(sentence_of([&] { nn::utils::parametrizations::spectral_norm(layer); }),
              HasSubstr("nn::materialize"));
  nn::materialize(layer, ones({1, 3}));
  nn::utils::parametrizations::weight_norm(layer);
  layer(ones({1, 3}));
}

TEST(Lazy, a_dict_that_does_not_fit_leaves_all_as_it_was) {
  nn::Sequential net(nn::LazyLinear(3), nn::Linear(3, 2));
  nn::Sequential wide(nn::Linear(5, 3), nn::Linear(3, 4));
  EXPECT_THAT(sentence_of([&] { net.load_state_dict(wide.state_dict()); }),
              HasSubstr("'1.weight' has shape [2, 3] in the module and [4, 3] in the dict"));
  EXPECT_EQ(net[0].type_name(), "LazyLinear");
  EXPECT_THAT(sentence_of([&] { net.load_state_dict({}); }),
              HasSubstr("missing in the dict: 0.weight, 0.bias, 1.weight, 1.bias"));
  EXPECT_THAT(sentence_of([&] {
                net.load_state_dict({{"0.weight", ones({3})}}, false);
              }),
              HasSubstr("'0.weight' has shape [3, 0] in the module and [3] in the dict"));
  const auto keys = net.load_state_dict({{"0.weight", ones({3, 7})}}, false);
  EXPECT_THAT(keys.missing, ElementsAre("0.bias", "1.weight", "1.bias"));
  EXPECT_EQ(nn::to_string(net[0]), "Linear(in_features=7, out_features=3, bias=True)");
  nn::LazyConvTranspose1d odd(4, 3, {.groups = 2});
  EXPECT_THAT(sentence_of([&] {
                odd.load_state_dict({{"weight", ones({3, 2, 3})}});
              }),
              HasSubstr("'weight' is [3, 2, 3] in the dict, and nothing was loaded"));
}

}  // namespace
}  // namespace bp::test
