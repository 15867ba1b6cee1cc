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

INSTANTIATE_TEST_SUITE_P(Of, Resumed, testing::ValuesIn(all_and_special_optimizers()),
                         name_of_case);

}  // namespace
}  // namespace bp::test
