// needs: cpu
// Groups with options of their own, options by name, closures, hooks, and what constructors refuse.
#include "optim/all_optimizers.hpp"

namespace bp::test {
namespace {

using testing::HasSubstr;

TEST(Groups, step_by_their_own_options) {
  const Tensor a = leaf({1.0}), b = leaf({1.0});
  optim::SGD optimizer(optim::SGD::Groups{{{a}, {.lr = 0.1}}, {{b}, {.lr = 0.5}}});
  EXPECT_EQ(optimizer.num_groups(), 2u);
  backward(sum(a * 2) + sum(b * 2));
  optimizer.step();
  EXPECT_NEAR(values_of(a)[0], 0.8, 1e-15);
  EXPECT_NEAR(values_of(b)[0], 0.0, 1e-15);
}

TEST(Groups, may_be_added_between_steps) {
  const Tensor a = leaf({1.0}), b = leaf({1.0});
  optim::Adam optimizer({a}, {.lr = 0.1});
  backward(sum(a));
  optimizer.step();
  EXPECT_EQ(optimizer.add_param_group({b}, {.lr = 0.2}), 1u);
  backward(sum(b));
  optimizer.step();
  EXPECT_NEAR(values_of(b)[0], 0.8, 1e-7);
  EXPECT_EQ(optimizer.parameters().size(), 2u);
  EXPECT_TRUE(optimizer.parameters(1)[0].is_same(b));
}

TEST(Groups, have_their_options_by_name_too) {
  const Tensor a = leaf({1.0});
  optim::Adam optimizer({a}, {.lr = 0.1});
  EXPECT_EQ(optimizer.option(0, "lr").as_double(), 0.1);
  optimizer.set_option(0, "lr", 0.25);
  optimizer.set_option(0, "betas", State::List{0.5, 0.75});
  EXPECT_EQ(optimizer.options().lr, 0.25);
  EXPECT_EQ(optimizer.options().betas[1], 0.75);
  EXPECT_FALSE(optimizer.has_option(0, "initial_lr"));
  optimizer.set_option(0, "initial_lr", 0.5);
  EXPECT_EQ(optimizer.option(0, "initial_lr").as_double(), 0.5);
  EXPECT_THAT(sentence_of([&] { optimizer.option(0, "momentum"); }),
              HasSubstr("Adam: parameter group 0 has no option 'momentum'"));
  EXPECT_THAT(sentence_of([&] { optimizer.set_option(0, "lr", "high"); }),
              HasSubstr("Adam: 'lr' is a text; pass a number"));
  EXPECT_THAT(sentence_of([&] { optimizer.set_option(0, "betas", State::List{0.5}); }),
              HasSubstr("Adam: 'betas' has 1 numbers; pass 2"));
  EXPECT_THAT(sentence_of([&] { optimizer.set_option(0, "amsgrad", 1); }),
              HasSubstr("Adam: 'amsgrad' is an int; pass a bool"));
  EXPECT_THAT(sentence_of([&] { optimizer.option(3, "lr"); }),
              HasSubstr("no parameter group 3 among 1"));
}

TEST(Groups, refuse_what_no_optimizer_can_step) {
  const Tensor a = leaf({1.0});
  EXPECT_THAT(sentence_of([&] { optim::Adam({a * 2}); }),
              HasSubstr("Adam: parameter 0 is not a leaf"));
  EXPECT_THAT(sentence_of([] { optim::Adam({tensor({1})}); }),
              HasSubstr("parameter 0 is not a leaf of floating-point"));
  EXPECT_THAT(sentence_of([] { optim::Adam({Tensor()}); }), HasSubstr("parameter 0"));
  EXPECT_THAT(sentence_of([&] {
                optim::Adam({a, a});
              }),
              HasSubstr("parameter 1 was added already"));
  optim::Adam optimizer({a});
  EXPECT_THAT(sentence_of([&] { optimizer.add_param_group({a}, {}); }),
              HasSubstr("parameter 0 was added already"));
  EXPECT_EQ(optimizer.num_groups(), 1u);
  EXPECT_THAT(sentence_of([&] { optim::Muon({a}); }),
              HasSubstr("Muon: parameter 0 is float64 of shape [1]; pass real matrices"));
  EXPECT_THAT(sentence_of([] { optim::Adafactor({set_requires_grad(zeros({2}, complex128))}); }),
              HasSubstr("Adafactor: parameter 0 is complex128"));
}

TEST(Groups, refuse_options_by_name_and_value) {
  const std::vector<Tensor> one{leaf({1.0})};
  const auto sentence = [&](auto make) { return sentence_of([&] { make(); }); };
  using namespace optim;
  EXPECT_THAT(sentence([&] {
                Adam(one, {.betas = {1.0, 0.9}});
              }),
              HasSubstr("Adam: betas are 1 and 0.9"));
  EXPECT_THAT(sentence([&] { AdamW(one, {.eps = -1}); }), HasSubstr("AdamW: eps is -1"));
  EXPECT_THAT(sentence([&] { NAdam(one, {.momentum_decay = -1}); }),
              HasSubstr("momentum_decay is -1"));
  EXPECT_THAT(sentence([&] { RAdam(one, {.lr = -1}); }), HasSubstr("RAdam: lr is -1"));
  EXPECT_THAT(sentence([&] { Adamax(one, {.weight_decay = -1}); }),
              HasSubstr("Adamax: weight_decay is -1"));
  EXPECT_THAT(sentence([&] { Adagrad(one, {.lr_decay = -1}); }), HasSubstr("lr_decay is -1"));
  EXPECT_THAT(sentence([&] { Adadelta(one, {.rho = 2}); }), HasSubstr("rho is 2"));
  EXPECT_THAT(sentence([&] { RMSprop(one, {.alpha = -1}); }), HasSubstr("alpha is -1"));
  EXPECT_THAT(sentence([&] {
                Rprop(one, {.etas = {0.5, 0.9}});
              }),
              HasSubstr("etas are 0.5 and 0.9"));
  EXPECT_THAT(sentence([&] { ASGD(one, {.lambd = -1}); }), HasSubstr("lambd is -1"));
  EXPECT_THAT(sentence([&] { Lion(one, {.betas = {0.5, -1}}); }), HasSubstr("Lion: betas"));
  EXPECT_THAT(sentence([&] { LAMB(one, {.lr = -1}); }), HasSubstr("LAMB: lr is -1"));
  EXPECT_THAT(sentence([&] { Muon(one, {.ns_steps = 100}); }), HasSubstr("ns_steps is 100"));
  EXPECT_THAT(sentence([&] { Muon(one, {.adjust_lr_fn = "x"}); }),
              HasSubstr("adjust_lr_fn is 'x'"));
  EXPECT_THAT(sentence([&] { Adafactor(one, {.d = 0.5}); }), HasSubstr("d is 0.5"));
  EXPECT_THAT(sentence([&] { LBFGS(one, {.line_search_fn = "x"}); }),
              HasSubstr("line_search_fn is 'x'"));
}

TEST(Optimizers, take_frozen_parameters_and_leave_them) {
  const Tensor frozen = tensor(Values{1}), used = leaf({1.0});
  optim::AdamW optimizer({frozen, used}, {.lr = 0.1});
  backward(sum(used * frozen));
  optimizer.step();
  optimizer.zero_grad();
  EXPECT_EQ(values_of(frozen), Values{1.0});
  EXPECT_LT(values_of(used)[0], 1.0);
}

TEST(Optimizers, step_by_a_closure_with_recording_on) {
  const Tensor a = leaf({1.0});
  optim::SGD optimizer({a}, {.lr = 0.1});
  const NoGrad outside;
  const Tensor loss = optimizer.step([&] {
    optimizer.zero_grad();
    const Tensor value = sum(a * 3);
    backward(value);
    return value;
  });
  EXPECT_EQ(values_of(loss), Values{3.0});
  EXPECT_NEAR(values_of(a)[0], 0.7, 1e-15);
  EXPECT_THAT(sentence_of([&] { optimizer.step(optim::Optimizer::Closure{}); }),
              HasSubstr("SGD: step got an empty closure"));
}

TEST(Optimizers, fill_gradients_with_0_if_asked) {
  const Tensor a = leaf({1.0, 2.0}), b = leaf({1.0});
  optim::SGD optimizer({a, b});
  backward(sum(a * 3));
  const Tensor before = grad(a);
  optimizer.zero_grad(false);
  EXPECT_TRUE(grad(a).is_same(before));
  EXPECT_EQ(values_of(grad(a)), (Values{0, 0}));
  EXPECT_FALSE(grad(b).defined());
}

TEST(Optimizers, call_hooks_around_steps) {
  const Tensor a = leaf({1.0});
  optim::SGD optimizer({a}, {.lr = 1});
  std::vector<double> seen;
  const auto look = [&](optim::Optimizer&) { seen.push_back(values_of(a)[0]); };
  const int before = optimizer.register_step_pre_hook(look);
  optimizer.register_step_post_hook(look);
  backward(sum(a));
  optimizer.step();
  EXPECT_EQ(seen, (std::vector<double>{1, 0}));
  optimizer.remove_hook(before);
  optimizer.step();
  EXPECT_EQ(seen, (std::vector<double>{1, 0, -1}));
}

}  // namespace
}  // namespace bp::test
