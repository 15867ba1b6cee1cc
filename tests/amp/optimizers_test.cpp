// needs: cpu reference
// GradScaler with every optimizer: other devices, 16 bits, hooks, and first steps that are left out.
#include <limits>
#include <optional>

#include <backplane/amp/functions.hpp>
#include <backplane/amp/grad_scaler.hpp>

#include "amp/networks.hpp"
#include "optim/all_optimizers.hpp"
#include "optim/mutations.hpp"

namespace bp::test {
namespace {

using amp::Autocast;
using amp::GradScaler;

constexpr double without_end = std::numeric_limits<double>::infinity();

class ScaledSteps : public EachOptimizer {};

// The same steps without a scaler, and with one whose losses are elsewhere.
TEST_P(ScaledSteps, are_those_of_parameters_on_other_devices) {
  const auto make = [](const char* where) {
    return std::vector<Tensor>{weight({2, 3}), set_requires_grad(to(waves({4}), device(where)))};
  };
  for (const bool unscales : {false, true}) {
    const auto plain = make("cpu"), scaled = make("reference:0");
    const auto first = GetParam().make(plain), second = GetParam().make(scaled);
    GradScaler scaler({.init_scale = 1024});
    for (int i = 0; i < 3; ++i) {
      first->zero_grad();
      second->zero_grad();
      backward(sum(square(plain[0] - 1)) + sum(square(plain[1] - 1)));
      backward(
          scaler.scale(sum(square(scaled[0] - 1)) + to(sum(square(scaled[1] - 1)), device("cpu"))));
      if (unscales) scaler.unscale_(*second);
      first->step();
      scaler.step(*second);
      scaler.update();
    }
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const Values ours = numbers_in(scaled[i]), theirs = numbers_in(plain[i]);
      for (std::size_t at = 0; at < ours.size(); ++at) EXPECT_NEAR(ours[at], theirs[at], 1e-5);
    }
  }
}

TEST_P(ScaledSteps, in_float16_are_right_or_refused) {
  const Tensor half = weight({4}, 0.7, f16), wide = set_requires_grad(cast(detach(half), f32));
  const auto optimizer = GetParam().make({half}), exact = GetParam().make({wide});
  GradScaler scaler;  // 65536, which float16 does not hold
  backward(scaler.scale(sum(cast(half, f32) * 0x1p-8)));
  backward(sum(wide * 0x1p-8));
  exact->step();
  if (!optimizer->takes_scaling()) {
    EXPECT_THAT(sentence_of([&] { scaler.step(*optimizer); }),
                HasSubstr("GradScaler: step: a gradient of shape [4] is float16"));
    return;
  }
  scaler.step(*optimizer);
  const Values ours = numbers_in(half), theirs = numbers_in(wide);
  for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], theirs[i], 2e-3);
}

// A scale that 16 bits do not hold, taken by the optimizer itself.
TEST_P(ScaledSteps, divide_16_bits_in_float32) {
  for (const Dtype dtype : {f16, bf16}) {
    const Tensor one = weight({4}, 0.7, dtype), other = set_requires_grad(clone(detach(one)));
    const auto scaled = GetParam().make({one}), plain = GetParam().make({other});
    set_grad(one, full({4}, 257 * 0.25, dtype));
    set_grad(other, cast(cast(grad(one), f32) / 257.0, dtype));
    scaled->step({full({}, 257, f32), zeros({}, f32)});
    plain->step();
    const Values ours = numbers_in(one), theirs = numbers_in(other);
    for (std::size_t i = 0; i < ours.size(); ++i)
      EXPECT_NEAR(ours[i], theirs[i], dtype == f16 ? 1e-3 : 8e-3);
  }
}

TEST_P(ScaledSteps, that_are_left_out_call_no_hooks_and_leave_no_trace) {
  const auto make = [] { return std::vector<Tensor>{weight({2, 3}), weight({3}, 0.4)}; };
  const auto plain = make(), scaled = make();
  const auto first = GetParam().make(plain), second = GetParam().make(scaled);
  int num_hooks = 0;
  second->register_step_pre_hook([&](optim::Optimizer&) { ++num_hooks; });
  second->register_step_post_hook([&](optim::Optimizer&) { ++num_hooks; });
  GradScaler scaler({.init_scale = 1024});
  for (int i = 0; i < 4; ++i) {
    second->zero_grad();
    const bool is_bad = i % 2 == 0;
    backward(
        scaler.scale((sum(square(scaled[0])) + sum(scaled[1])) * (is_bad ? without_end : 1.0)));
    scaler.step(*second);
    scaler.update();
    if (is_bad) continue;
    first->zero_grad();
    backward(sum(square(plain[0])) + sum(plain[1]));
    first->step();
  }
  EXPECT_EQ(num_hooks, 4);
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_EQ(numbers_in(scaled[i]), numbers_in(plain[i]));
}

INSTANTIATE_TEST_SUITE_P(Of, ScaledSteps, testing::ValuesIn(all_optimizers()), name_of_case);

TEST(FirstSteps, that_are_left_out_change_no_later_ones) {
  for (const double dampening : {0.0, 0.5}) {
    const Tensor w = set_requires_grad(tensor({1.0f})), v = set_requires_grad(tensor({1.0f}));
    const optim::SGDOptions options{.lr = 0.5, .momentum = 0.5, .dampening = dampening};
    optim::SGD scaled({w}, options), plain({v}, options);
    GradScaler scaler({.init_scale = 8});
    for (const double slope : {without_end, 1.0, 2.0, 3.0}) {
      scaled.zero_grad();
      backward(scaler.scale(sum(w * slope)));
      scaler.step(scaled);
      scaler.update();
      if (slope == without_end) continue;
      plain.zero_grad();
      backward(sum(v * slope));
      plain.step();
    }
    EXPECT_EQ(numbers_in(w), numbers_in(v)) << dampening;
  }
}

TEST(Scalers, know_optimizers_by_more_than_their_address) {
  const Tensor w = set_requires_grad(tensor({1.0f}));
  GradScaler scaler({.init_scale = 8});
  std::optional<optim::SGD> optimizer;
  for (int i = 0; i < 2; ++i) {
    optimizer.emplace(std::vector{w}, optim::SGDOptions{.lr = 0.25});
    optimizer->zero_grad();
    backward(scaler.scale(sum(w)));
    scaler.unscale_(*optimizer);
    scaler.step(*optimizer);
  }
  EXPECT_EQ(numbers_in(w), Values{0.5});
}

struct ScalerOfItsOwn {
  ScalerOfItsOwn() { step(); }
  State state() const { return scaler.state_dict(); }
  void load(const State& given) { scaler.load_state_dict(given); }
  void step() {
    optimizer.zero_grad();
    backward(scaler.scale(sum(w)));
    scaler.step(optimizer);
    scaler.update();
  }

  const Tensor w = set_requires_grad(tensor({1.0f}));
  optim::SGD optimizer{{w}, {.lr = 0.1}};
  GradScaler scaler;
};

TEST(Scalers, refuse_odd_states_or_go_on_from_them) {
  expect_survives<ScalerOfItsOwn>(ScalerOfItsOwn().state(),
                                  [] { return std::make_unique<ScalerOfItsOwn>(); });
}

TEST(Checkpoints, without_carried_say_that_it_is_missing) {
  const Tensor w = weight({2, 2}), x = weight({2, 2}, 0.3);
  Tensor result;
  {
    const Autocast scope("cpu");
    result = autograd::checkpoint(
        [&](std::span<const Tensor> inputs) {
          return std::vector<Tensor>{tanh(linear(inputs[0], w))};
        },
        {x})[0];
  }
  EXPECT_THAT(sentence_of([&] { backward(sum(result)); }), HasSubstr("amp::carried"));
}

}  // namespace
}  // namespace bp::test
