// needs: cpu
// Training that goes on from saved states takes the same steps, bit for bit, as one that was never left.
#include "optim/all_optimizers.hpp"
#include "optim/all_schedulers.hpp"
#include "optim/mutations.hpp"

namespace bp::test {
namespace {

using namespace optim;

// Parameters of two dtypes, where one optimizer takes both.
struct Training {
  explicit Training(const OptimizerCase& how)
      : params{set_requires_grad(reshape(arange(0, 6, 1, f64) * 0.3 - 1, {2, 3})),
               set_requires_grad(reshape(arange(0, 6, 1, f32) * 0.5 - 2, {3, 2}))},
        optimizer(how.make(std::string_view(how.name).ends_with("LBFGS") ? std::vector{params[0]}
                                                                         : params)) {}

  void step(LRScheduler& scheduler) {
    optimizer->step([&] {
      make_gradients(params);
      return sum(square(params[0] - 1)) * 0.5;
    });
    scheduler.step();
  }
  std::string words(const LRScheduler& scheduler) const {
    State::List values(params.begin(), params.end());
    return words_of(State::List{optimizer->state_dict(), scheduler.state_dict(), values});
  }

  std::vector<Tensor> params;
  std::unique_ptr<Optimizer> optimizer;
};

class Resumed : public EachOptimizer {};

TEST_P(Resumed, training_takes_the_same_steps_with_every_scheduler) {
  int num_tried = 0;
  for (const auto& [name, make] : all_schedulers()) {
    Training first(GetParam());
    std::shared_ptr<LRScheduler> scheduler;
    try {
      scheduler = make(*first.optimizer);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("has neither momentum nor betas")) << name;
      continue;
    }
    ++num_tried;
    for (int i = 0; i < 4; ++i) first.step(*scheduler);
    for (const bool scheduler_first : {true, false}) {
      Training second(GetParam());
      const auto scheduler_of_second = make(*second.optimizer);
      const State of_optimizer = copied(first.optimizer->state_dict());
      const State of_scheduler = copied(scheduler->state_dict());
      if (scheduler_first) scheduler_of_second->load_state_dict(of_scheduler);
      second.optimizer->load_state_dict(of_optimizer);
      if (!scheduler_first) scheduler_of_second->load_state_dict(of_scheduler);
      for (std::size_t i = 0; i < first.params.size(); ++i)
        set_data(second.params[i], clone(detach(first.params[i])));
      ASSERT_EQ(second.words(*scheduler_of_second), first.words(*scheduler)) << name;
      for (int i = 0; i < (scheduler_first ? 2 : 3); ++i) {
        first.step(*scheduler);
        second.step(*scheduler_of_second);
        EXPECT_EQ(second.words(*scheduler_of_second), first.words(*scheduler)) << name << i;
      }
    }
  }
  EXPECT_GE(num_tried, 13);
}

// All that a scheduler may change.
std::string words_of_both(const Optimizer& optimizer, const State& scheduler) {
  return words_of(State::List{optimizer.state_dict().at("param_groups"), scheduler});
}

TEST(Schedulers, take_steps_whole_or_not_at_all) {
  auto all = all_schedulers();
  bool has_failed = false;
  const auto failing = [&](Optimizer& o) {
    return std::make_shared<LambdaLR>(o, [&](std::int64_t epoch) {
      if (epoch != 3) return 0.5;
      has_failed = true;
      return -1.0;
    });
  };
  const auto powers = [](Optimizer& o) {
    return std::make_shared<ExponentialLR>(o, ExponentialLROptions{.gamma = 0.9});
  };
  all.emplace_back("chained with one that fails", [&](Optimizer& o) {
    return std::make_shared<ChainedScheduler>(Schedulers{powers(o), failing(o)});
  });
  all.emplace_back("after another, one that fails", [&](Optimizer& o) {
    return std::make_shared<SequentialLR>(o, Schedulers{powers(o), failing(o)},
                                          std::vector<std::int64_t>{1});
  });
  all.emplace_back("a cycle that goes below 0", [](Optimizer& o) {
    return std::make_shared<CyclicLR>(
        o, CyclicLROptions{.base_lr = 0.1,
                           .max_lr = 1.0,
                           .step_size_up = 2,
                           .scale_fn = [](double x) { return x > 2 ? -1.0 : 1.0; },
                           .scale_mode = "iterations"});
  });
  for (const auto& [name, make] : all) {
    SCOPED_TRACE(name);
    SGD optimizer({leaf({1.0})}, {.lr = 0.5, .momentum = 0.5});
    const auto scheduler = make(optimizer);
    has_failed = false;
    for (int i = 0; i < 6; ++i) {
      const std::string before = words_of_both(optimizer, scheduler->state_dict());
      if (sentence_of([&] { scheduler->step(); }) == "no error") continue;
      EXPECT_EQ(words_of_both(optimizer, scheduler->state_dict()), before);
      has_failed = true;
      break;
    }
    if (has_failed) continue;
    optimizer.add_param_group({leaf({2.0})}, {.lr = 0.5});
    const std::string before = words_of_both(optimizer, scheduler->state_dict());
    EXPECT_THAT(sentence_of([&] { scheduler->step(); }), testing::HasSubstr("had 1"));
    EXPECT_EQ(words_of_both(optimizer, scheduler->state_dict()), before);
  }
}

TEST(Schedulers, of_metrics_take_steps_whole_or_not_at_all) {
  SGD optimizer({leaf({1.0})}, {.lr = 0.5});
  ReduceLROnPlateau scheduler(optimizer, {.patience = 0});
  scheduler.step(1);
  optimizer.add_param_group({leaf({2.0})}, {.lr = 0.5});
  const std::string before = words_of_both(optimizer, scheduler.state_dict());
  EXPECT_THAT(sentence_of([&] { scheduler.step(2); }), testing::HasSubstr("had 1"));
  EXPECT_EQ(words_of_both(optimizer, scheduler.state_dict()), before);
}

TEST(Groups, that_came_after_steps_are_resumed_too) {
  const auto training = [](bool is_saved) {
    const Tensor a = leaf({1.0, -2.0}), b = leaf({3.0});
    auto optimizer = std::make_unique<Adam>(std::vector{a}, AdamOptions{.lr = 0.1});
    for (int i = 0; i < 6; ++i) {
      if (i == 2) optimizer->add_param_group({b}, {.lr = 0.3, .amsgrad = true});
      if (i == 4 && is_saved) {
        const State saved = copied(optimizer->state_dict());
        optimizer = std::make_unique<Adam>(Adam::Groups{{{a}}, {{b}}});
        optimizer->load_state_dict(saved);
      }
      make_gradients({a, b});
      optimizer->step();
    }
    return words_of(State::List{optimizer->state_dict(), a, b});
  };
  EXPECT_EQ(training(true), training(false));
}

INSTANTIATE_TEST_SUITE_P(Of, Resumed, testing::ValuesIn(all_and_special_optimizers()),
                         name_of_case);

}  // namespace
}  // namespace bp::test
