// needs: cpu
// GradScaler: its states, its errors, and that nothing waits for the device.
#include <limits>

#include <backplane/amp/grad_scaler.hpp>
#include <backplane/capture/capture.hpp>
#include <backplane/optim/sgd.hpp>

#include "amp/networks.hpp"

namespace bp::test {
namespace {

using amp::Autocast;
using amp::GradScaler;
using amp::GradScalerOptions;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

class Scaling : public testing::Test {
 protected:
  // Backward of a loss whose gradient is `slope` everywhere.
  void go_back(GradScaler& scaler, double slope) {
    optimizer.zero_grad();
    backward(scaler.scale(sum(w * slope)));
  }
  void iterate(GradScaler& scaler, double slope) {
    go_back(scaler, slope);
    scaler.step(optimizer);
    scaler.update();
  }

  const Tensor w = set_requires_grad(tensor({1.0f, 2.0f}));
  optim::SGD optimizer{{w}, {.lr = 0.5, .momentum = 0.5}};
};

TEST_F(Scaling, scales_the_loss_and_takes_the_step_of_the_unscaled_gradient) {
  GradScaler scaler;
  go_back(scaler, 1);
  EXPECT_EQ(numbers_in(grad(w)), Values(2, 65536));
  scaler.step(optimizer);
  EXPECT_EQ(numbers_in(w), (Values{0.5, 1.5}));
  EXPECT_EQ(numbers_in(grad(w)), Values(2, 65536)) << "step leaves gradients alone";
}

TEST_F(Scaling, unscales_gradients_in_place_once) {
  GradScaler scaler({.init_scale = 1000});
  go_back(scaler, 0.25);
  scaler.unscale_(optimizer);
  for (double each : numbers_in(grad(w))) EXPECT_NEAR(each, 0.25, 1e-7);
  scaler.step(optimizer);
  EXPECT_NEAR(numbers_in(w)[0], 0.875, 1e-6);
}

TEST_F(Scaling, leaves_out_a_step_that_is_not_finite_and_backs_off) {
  for (const double bad : {infinity, -infinity, not_a_number}) {
    for (const bool unscales : {false, true}) {
      GradScaler scaler({.init_scale = 1024});
      iterate(scaler, 1);  // gives the velocity a value
      const Values before = numbers_in(w);
      go_back(scaler, bad);
      if (unscales) scaler.unscale_(optimizer);
      scaler.step(optimizer);
      scaler.update();
      EXPECT_EQ(numbers_in(w), before);
      EXPECT_EQ(scaler.get_scale(), 512);
      iterate(scaler, 1);
      EXPECT_TRUE(std::isfinite(numbers_in(w)[0])) << "the velocity took part in the bad step";
    }
  }
}

TEST_F(Scaling, grows_after_the_interval_and_counts_anew_after_an_overflow) {
  GradScaler scaler(
      {.init_scale = 8, .growth_factor = 4, .backoff_factor = 0.25, .growth_interval = 3});
  std::vector<double> scales;
  for (const double slope :
       {1.0, 1.0, 1.0, 1.0, 1.0, infinity, 1.0, 1.0, 1.0, infinity, infinity}) {
    iterate(scaler, slope);
    scales.push_back(scaler.get_scale());
  }
  EXPECT_EQ(scales, (std::vector<double>{8, 8, 32, 32, 32, 8, 8, 8, 32, 8, 2}));
}

TEST_F(Scaling, never_becomes_infinite_or_0) {
  GradScaler large({.init_scale = 3e38, .growth_interval = 1});
  go_back(large, 1e-30);
  large.step(optimizer);
  large.update();
  EXPECT_EQ(large.get_scale(), static_cast<double>(3e38f));
  GradScaler small({.init_scale = 1e-30, .backoff_factor = 1e-20});
  iterate(small, infinity);
  EXPECT_GT(small.get_scale(), 0);
  large.load_state_dict(large.state_dict());
  small.load_state_dict(small.state_dict());
}

TEST_F(Scaling, refuses_calls_out_of_their_order) {
  GradScaler scaler;
  EXPECT_THAT(sentence_of([&] { scaler.step(optimizer); }), HasSubstr("step: no loss was scaled"));
  EXPECT_THAT(sentence_of([&] { scaler.unscale_(optimizer); }),
              HasSubstr("unscale_: no loss was scaled"));
  EXPECT_THAT(sentence_of([&] { scaler.update(); }), HasSubstr("update: no loss was scaled"));
  scaler.scale(sum(w));
  EXPECT_THAT(sentence_of([&] { scaler.step(optimizer); }),
              HasSubstr("no parameter of the optimizer has a gradient"));
  EXPECT_THAT(sentence_of([&] { scaler.unscale_(optimizer); }),
              HasSubstr("no parameter of the optimizer has a gradient"));
  EXPECT_THAT(sentence_of([&] { scaler.update(); }), HasSubstr("no optimizer took a step"));
  go_back(scaler, 1);
  scaler.unscale_(optimizer);
  EXPECT_THAT(sentence_of([&] { scaler.unscale_(optimizer); }), HasSubstr("call it once"));
  scaler.step(optimizer);
  EXPECT_THAT(sentence_of([&] { scaler.step(optimizer); }), HasSubstr("call update()"));
  EXPECT_THAT(sentence_of([&] { scaler.unscale_(optimizer); }), HasSubstr("comes after step"));
  scaler.update();
  go_back(scaler, 1);
  scaler.step(optimizer);
}

TEST_F(Scaling, refuses_options_that_make_no_sense) {
  const auto refusal = [](const GradScalerOptions& options) {
    return sentence_of([&] { GradScaler scaler(options); });
  };
  EXPECT_THAT(refusal({.growth_factor = 1}), HasSubstr("growth_factor is 1"));
  EXPECT_THAT(refusal({.backoff_factor = 1}), HasSubstr("backoff_factor is 1"));
  EXPECT_THAT(refusal({.growth_interval = 0}), HasSubstr("growth_interval is 0"));
  EXPECT_THAT(refusal({.init_scale = infinity}), HasSubstr("scale is inf"));
  EXPECT_THAT(refusal({.init_scale = not_a_number}), HasSubstr("scale is nan"));
  GradScaler scaler;
  EXPECT_THAT(sentence_of([&] { scaler.set_growth_factor(0.5); }),
              HasSubstr("growth_factor is 0.5"));
}

TEST_F(Scaling, does_nothing_if_it_is_not_enabled) {
  GradScaler scaler({.enabled = false});
  iterate(scaler, 1);
  EXPECT_EQ(numbers_in(grad(w)), Values(2, 1));
  EXPECT_EQ(numbers_in(w), (Values{0.5, 1.5}));
  scaler.unscale_(optimizer);
  EXPECT_EQ(scaler.get_scale(), 1);
  EXPECT_EQ(scaler.state_dict().size(), 0u);
}

TEST_F(Scaling, refuses_to_unscale_float16_gradients) {
  const Tensor half = weight({3}, 0.7, f16);
  optim::SGD others({half}, {.lr = 0.1});
  GradScaler scaler({.init_scale = 4});
  backward(scaler.scale(sum(half)));
  EXPECT_THAT(sentence_of([&] { scaler.unscale_(others); }), HasSubstr("is float16"));
  const Values before = numbers_in(half);
  scaler.step(others);
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_NEAR(numbers_in(half)[i], before[i] - 0.1, 1e-3);
}

TEST_F(Scaling, keeps_apart_what_each_optimizer_found) {
  const Tensor v = set_requires_grad(tensor({1.0f}));
  optim::SGD other({v}, {.lr = 1});
  GradScaler scaler({.init_scale = 16});
  optimizer.zero_grad();
  backward(scaler.scale(sum(w * infinity) + sum(v)));
  scaler.step(optimizer);
  scaler.step(other);
  scaler.update();
  EXPECT_EQ(numbers_in(w), (Values{1, 2}));
  EXPECT_EQ(numbers_in(v), Values{0});
  EXPECT_EQ(scaler.get_scale(), 8);
}

TEST_F(Scaling, unscales_every_dtype_and_a_shared_gradient_once) {
  const Tensor low = weight({3}, 0.7, bf16), wide = weight({2}, 0.7, f64), none = weight({0});
  const Tensor complex = set_requires_grad(cast(waves({2}), complex64));
  optim::SGD all({low, wide, none, complex, w}, {.lr = 0.1});
  GradScaler scaler({.init_scale = 3});
  optimizer.zero_grad();
  backward(scaler.scale(sum(low) + sum(wide) + sum(none) + sum(real(complex)) + sum(w)));
  set_grad(none, zeros({0}));
  scaler.unscale_(all);
  for (const Tensor& each : {low, wide, real(grad(complex)), w})
    for (const double g :
         numbers_in(each.is_same(low) || each.is_same(wide) || each.is_same(w) ? grad(each) : each))
      EXPECT_NEAR(g, 1, 1e-6);
}

TEST_F(Scaling, goes_on_from_its_state) {
  GradScaler first({.init_scale = 8, .growth_interval = 3}), second;
  iterate(first, 1);
  iterate(first, 1);
  const State state = first.state_dict();
  EXPECT_EQ(state.at("_growth_tracker").as_int(), 2);
  second.load_state_dict(state);
  iterate(second, 1);
  EXPECT_EQ(second.get_scale(), 16);
  first.load_state_dict(second.state_dict());
  EXPECT_EQ(first.get_scale(), 16);
}

TEST_F(Scaling, refuses_states_of_others) {
  GradScaler scaler;
  State state = scaler.state_dict();
  EXPECT_THAT(sentence_of([&] { scaler.load_state_dict(State::dict()); }), HasSubstr("no entries"));
  EXPECT_THAT(sentence_of([&] {
                scaler.load_state_dict(State::dict({{"scale", 2.0}}));
              }),
              HasSubstr("growth_factor"));
  state.set("scale", -1.0);
  EXPECT_THAT(sentence_of([&] { scaler.load_state_dict(state); }), HasSubstr("scale is -1"));
  EXPECT_EQ(scaler.get_scale(), 65536);
}

// A capture refuses whatever waits for the device or reads from it.
TEST_F(Scaling, waits_for_nothing) {
  GradScaler scaler({.init_scale = 8, .growth_interval = 2});
  go_back(scaler, 1);
  scaler.step(optimizer);  // makes the velocity
  scaler.update();
  const Tensor gradient = ones({2});
  set_grad(w, gradient);
  Recording recording = capture(device("cpu"), [&] {
    fill_(gradient, 8);
    scaler.unscale_(optimizer);
    scaler.step(optimizer);
    scaler.update();
  });
  EXPECT_EQ(scaler.get_scale(), 8) << "a capture runs nothing";
  recording.replay();
  EXPECT_EQ(scaler.get_scale(), 16);
  EXPECT_EQ(numbers_in(gradient), Values(2, 1));
}

TEST_F(Scaling, is_not_cast_itself) {
  const Autocast scope("cpu");
  GradScaler scaler;
  iterate(scaler, 1);
  EXPECT_EQ(numbers_in(w), (Values{0.5, 1.5}));
}

TEST_F(Scaling, scales_several_losses) {
  GradScaler scaler({.init_scale = 4});
  const std::vector<Tensor> scaled = scaler.scale(TensorList{sum(w), sum(w) * 2});
  EXPECT_EQ(numbers_in(scaled[0]), Values{12});
  EXPECT_EQ(numbers_in(scaled[1]), Values{24});
  EXPECT_THAT(sentence_of([&] { scaler.scale(Tensor()); }), HasSubstr("the loss is undefined"));
}

// A loss so small that its gradients are 0 in float16.
TEST(Training, in_float16_needs_the_scaler_and_works_with_it) {
  const Tensor x = waves({32, 4}, 1.1), y = linear(x, waves({2, 4}, 2.3));
  const auto losses = [&](bool scales) {
    const Tensor w = weight({2, 4});
    optim::SGD optimizer({w}, {.lr = 4e7});
    GradScaler scaler({.growth_interval = 20, .enabled = scales});
    Values all;
    for (int step = 0; step < 60; ++step) {
      optimizer.zero_grad();
      Tensor loss;
      {
        const Autocast half("cpu", {.dtype = f16});
        loss = mse_loss(linear(x, w), y) * 1e-8;
      }
      backward(scaler.scale(loss));
      scaler.step(optimizer);
      scaler.update();
      all.push_back(numbers_in(loss)[0]);
    }
    return all;
  };
  const Values with = losses(true), without = losses(false);
  EXPECT_EQ(without.back(), without.front());
  EXPECT_LT(with.back(), 0.1 * with.front());
}

TEST(Training, a_loss_of_nan_changes_nothing) {
  const Tensor w = weight({4, 4}), x = waves({2, 4});
  optim::SGD optimizer({w}, {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1});
  GradScaler scaler;
  const Values before = numbers_in(w);
  {
    const Autocast half("cpu", {.dtype = f16});
    backward(scaler.scale(sum(log(linear(x, w) * 0 - 1))));
  }
  scaler.step(optimizer);
  scaler.update();
  EXPECT_EQ(numbers_in(w), before);
  EXPECT_EQ(scaler.get_scale(), 32768);
}

}  // namespace
}  // namespace bp::test
