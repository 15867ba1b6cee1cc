// needs: cpu
// Schedulers against their closed forms, as promises of all, and what they refuse. PyTorch's numbers: tests/pytorch.
#include <cmath>

#include <backplane/optim/optim.hpp>

#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

using namespace optim;
using testing::HasSubstr;

struct Bench {
  explicit Bench(double lr = 1) : optimizer({leaf({1.0})}, {.lr = lr, .momentum = 0.5}) {}
  SGD optimizer;
};

Values rates_of(LRScheduler& scheduler, int count) {
  Values rates;
  for (int i = 0; i < count; ++i) {
    rates.push_back(scheduler.get_last_lr()[0]);
    EXPECT_EQ(scheduler.optimizer().option(0, "lr").as_double(), rates.back());
    scheduler.step();
  }
  return rates;
}

void expect_rates(LRScheduler& scheduler, const std::function<double(int)>& expected) {
  const Values found = rates_of(scheduler, 30);
  for (int i = 0; i < 30; ++i)
    EXPECT_NEAR(found[static_cast<std::size_t>(i)], expected(i), 1e-12) << i;
}

TEST(Schedulers, follow_their_closed_forms) {
  Bench a, b, c, d, e, f, g, h;
  StepLR steps(a.optimizer, {.step_size = 4, .gamma = 0.5});
  expect_rates(steps, [](int i) { return std::pow(0.5, i / 4); });
  ExponentialLR powers(b.optimizer, {.gamma = 0.9});
  expect_rates(powers, [](int i) { return std::pow(0.9, i); });
  LinearLR line(c.optimizer, {.start_factor = 0.2, .total_iters = 8});
  expect_rates(line, [](int i) { return 0.2 + 0.8 * std::min(i, 8) / 8; });
  CosineAnnealingLR cosine(d.optimizer, {.T_max = 40, .eta_min = 0.1});
  expect_rates(cosine, [](int i) { return 0.1 + 0.9 * (1 + std::cos(M_PI * i / 40)) / 2; });
  CosineAnnealingWarmRestarts again(e.optimizer, {.T_0 = 7});
  expect_rates(again, [](int i) { return (1 + std::cos(M_PI * (i % 7) / 7)) / 2; });
  PolynomialLR polynomial(f.optimizer, {.total_iters = 20, .power = 2});
  expect_rates(polynomial, [](int i) { return std::pow(1 - std::min(i, 20) / 20.0, 2); });
  LambdaLR function(g.optimizer, [](std::int64_t i) { return 1.0 / static_cast<double>(1 + i); });
  expect_rates(function, [](int i) { return 1.0 / (1 + i); });
  MultiStepLR marks(h.optimizer, {.milestones = {9, 3, 9}, .gamma = 0.5});
  expect_rates(marks, [](int i) { return i < 3 ? 1 : i < 9 ? 0.5 : 0.125; });
}

TEST(Schedulers, warm_up_before_another_begins) {
  Bench bench;
  SequentialLR both(
      bench.optimizer,
      {std::make_shared<LinearLR>(bench.optimizer,
                                  LinearLROptions{.start_factor = 0.1, .total_iters = 5}),
       std::make_shared<ExponentialLR>(bench.optimizer, ExponentialLROptions{.gamma = 0.5})},
      {5});
  expect_rates(both, [](int i) { return i < 5 ? 0.1 + 0.9 * i / 5 : std::pow(0.5, i - 5); });
}

TEST(Schedulers, multiply_when_chained) {
  Bench bench;
  ChainedScheduler both(
      {std::make_shared<ExponentialLR>(bench.optimizer, ExponentialLROptions{.gamma = 0.9}),
       std::make_shared<StepLR>(bench.optimizer, StepLROptions{.step_size = 10, .gamma = 0.5})});
  expect_rates(both, [](int i) { return std::pow(0.9, i) * std::pow(0.5, i / 10); });
}

TEST(Schedulers, cycle_momentum_against_the_rate) {
  Bench bench;
  OneCycleLR cycle(bench.optimizer, {.max_lr = 1.0, .total_steps = 10});
  EXPECT_NEAR(bench.optimizer.options().lr, 1 / 25.0, 1e-15);
  EXPECT_NEAR(bench.optimizer.options().momentum, 0.95, 1e-15);
  cycle.step();
  cycle.step();
  EXPECT_NEAR(bench.optimizer.options().lr, 1, 1e-15);
  EXPECT_NEAR(bench.optimizer.options().momentum, 0.85, 1e-15);

  Adam adam({leaf({1.0})});
  CyclicLR wave(adam, {.base_lr = 0.1, .max_lr = 0.2, .step_size_up = 2});
  EXPECT_EQ(adam.options().betas[0], 0.9);
  wave.step();
  EXPECT_NEAR(adam.options().betas[0], 0.85, 1e-15);
  EXPECT_EQ(adam.options().betas[1], 0.999);
}

TEST(Schedulers, take_a_scale_of_the_callers) {
  Bench bench;
  CyclicLR wave(bench.optimizer,
                {.base_lr = 0.0, .max_lr = 1.0, .step_size_up = 1, .scale_fn = [](double cycle) {
                   return 1 / cycle;
                 }});
  expect_rates(wave, [](int i) { return i % 2 == 0 ? 0 : 1.0 / (i / 2 + 1); });
}

TEST(Schedulers, lower_rates_when_a_metric_stays) {
  Bench bench;
  ReduceLROnPlateau plateau(bench.optimizer, {.factor = 0.5, .patience = 1, .min_lr = 0.2});
  Values rates;
  for (const double metric : {1.0, 1.0, 1.0, 0.5, std::nan(""), 0.5, 0.5, 0.5, 0.5, 0.5}) {
    plateau.step(metric);
    rates.push_back(plateau.get_last_lr()[0]);
  }
  EXPECT_EQ(rates, (Values{1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.2, 0.2, 0.2}));
}

TEST(Schedulers, go_on_from_a_state) {
  Bench first, second;
  SWALR a(first.optimizer, {.swa_lr = 0.1, .anneal_epochs = 20});
  for (int i = 0; i < 7; ++i) a.step();
  SWALR b(second.optimizer, {.swa_lr = 0.7});
  b.load_state_dict(a.state_dict());
  second.optimizer.load_state_dict(first.optimizer.state_dict());
  EXPECT_EQ(b.last_epoch(), 7);
  EXPECT_EQ(rates_of(b, 20), rates_of(a, 20));
}

TEST(Schedulers, go_on_after_a_given_step) {
  Bench bench;
  EXPECT_THAT(sentence_of([&] { ExponentialLR(bench.optimizer, {.gamma = 0.5, .last_epoch = 3}); }),
              HasSubstr("parameter group 0 has no 'initial_lr'"));
  bench.optimizer.set_option(0, "initial_lr", 2.0);
  CosineAnnealingLR later(bench.optimizer, {.T_max = 10, .last_epoch = 3});
  EXPECT_EQ(later.last_epoch(), 4);
}

TEST(Schedulers, say_what_is_wrong_with_their_options) {
  Bench bench;
  SGD& o = bench.optimizer;
  const auto sentence = [](auto make) { return sentence_of([&] { make(); }); };
  EXPECT_THAT(sentence([&] { StepLR(o, {.step_size = 0}); }), HasSubstr("step_size is 0"));
  EXPECT_THAT(sentence([&] { ConstantLR(o, {.factor = 2}); }), HasSubstr("factor is 2"));
  EXPECT_THAT(sentence([&] { LinearLR(o, {.start_factor = 0}); }), HasSubstr("start_factor is 0"));
  EXPECT_THAT(sentence([&] { LinearLR(o, {.end_factor = 2}); }), HasSubstr("end_factor is 2"));
  EXPECT_THAT(sentence([&] { PolynomialLR(o, {.total_iters = 0}); }),
              HasSubstr("total_iters is 0"));
  EXPECT_THAT(sentence([&] { CosineAnnealingLR(o, {.T_max = 0}); }), HasSubstr("T_max is 0"));
  EXPECT_THAT(sentence([&] { CosineAnnealingWarmRestarts(o, {.T_0 = 0}); }), HasSubstr("T_0 is 0"));
  EXPECT_THAT(sentence([&] { OneCycleLR(o, {.max_lr = 1.0}); }),
              HasSubstr("the number of steps is missing"));
  EXPECT_THAT(sentence([&] { OneCycleLR(o, {.max_lr = 1.0, .total_steps = 5, .pct_start = 2}); }),
              HasSubstr("pct_start is 2"));
  EXPECT_THAT(sentence([&] {
                OneCycleLR(o, {.max_lr = std::vector<double>{1, 2}, .total_steps = 5});
              }),
              HasSubstr("2 numbers for max_lr, and the optimizer has 1 parameter groups"));
  EXPECT_THAT(sentence([&] { CyclicLR(o, {.base_lr = 0.1, .max_lr = 1.0, .mode = "x"}); }),
              HasSubstr("mode is 'x'"));
  EXPECT_THAT(sentence([&] { SWALR(o, {.swa_lr = 0.1, .anneal_strategy = "x"}); }),
              HasSubstr("anneal_strategy is 'x'"));
  EXPECT_THAT(sentence([&] { LambdaLR(o, std::vector<RateFunction>{}); }),
              HasSubstr("0 functions for 1 parameter groups"));
  EXPECT_THAT(sentence([&] { ReduceLROnPlateau(o, {.factor = 1}); }), HasSubstr("factor is 1"));
  EXPECT_THAT(sentence([&] { ReduceLROnPlateau(o, {.mode = "x"}); }), HasSubstr("mode is 'x'"));
  EXPECT_THAT(sentence([&] { ChainedScheduler({}); }), HasSubstr("got no scheduler"));
  const auto one = std::make_shared<ExponentialLR>(o, ExponentialLROptions{.gamma = 0.5});
  EXPECT_THAT(sentence([&] { SequentialLR(o, {one}, {3}); }),
              HasSubstr("1 schedulers and 1 milestones"));
  Bench other;
  EXPECT_THAT(sentence([&] { SequentialLR(other.optimizer, {one}, {}); }),
              HasSubstr("scheduler 0 belongs to another optimizer"));
  Adagrad adagrad({leaf({1.0})});
  EXPECT_THAT(sentence([&] { OneCycleLR(adagrad, {.max_lr = 1.0, .total_steps = 5}); }),
              HasSubstr("Adagrad has neither momentum nor betas"));
}

TEST(Schedulers, refuse_more_steps_than_a_cycle_has_and_groups_that_came_later) {
  Bench bench;
  OneCycleLR cycle(bench.optimizer, {.max_lr = 1.0, .total_steps = 2});
  cycle.step();
  cycle.step();
  EXPECT_THAT(sentence_of([&] { cycle.step(); }), HasSubstr("OneCycleLR: step 3 of 2"));
  Bench growing;
  ExponentialLR powers(growing.optimizer, {.gamma = 0.5});
  growing.optimizer.add_param_group({leaf({1.0})}, {});
  EXPECT_THAT(sentence_of([&] { powers.step(); }), HasSubstr("has 2 parameter groups and had 1"));
}

TEST(Schedulers, refuse_states_of_other_kinds) {
  Bench bench;
  StepLR steps(bench.optimizer, {.step_size = 4});
  EXPECT_THAT(sentence_of([&] { steps.load_state_dict(State::dict()); }),
              HasSubstr("no 'last_epoch'"));
  State state = steps.state_dict();
  state.set("gamma", "x");
  state.set("last_epoch", 50);
  EXPECT_THAT(sentence_of([&] { steps.load_state_dict(state); }),
              HasSubstr("StepLR: 'gamma' is a text; pass a number"));
  EXPECT_EQ(steps.last_epoch(), 0);
}

}  // namespace
}  // namespace bp::test
