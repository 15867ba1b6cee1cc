// needs: cpu reference
// States: their layout is PyTorch's, a run goes on from one, and foreign ones are refused before anything is changed.
#include "optim/all_optimizers.hpp"
#include "optim/mutations.hpp"

namespace bp::test {
namespace {

using testing::HasSubstr;

std::vector<Tensor> fresh() {
  return {set_requires_grad(reshape(arange(0, 6, 1, f64) * 0.5, {2, 3})), leaf({1.0, -2.0})};
}

void take_steps(optim::Optimizer& optimizer, const std::vector<Tensor>& params, int count) {
  for (int i = 0; i < count; ++i) {
    make_gradients(params);
    optimizer.step();
  }
}

class EachState : public EachOptimizer {};

TEST_P(EachState, lets_another_optimizer_go_on_with_the_same_bits) {
  const auto params = fresh();
  const auto first = GetParam().make(params);
  take_steps(*first, params, 3);
  const State saved = copied(first->state_dict());
  std::vector<Tensor> again;
  for (const Tensor& each : params) again.push_back(set_requires_grad(clone(detach(each))));
  take_steps(*first, params, 3);

  const auto second = GetParam().make(again);
  second->load_state_dict(saved);
  take_steps(*second, again, 3);
  for (std::size_t i = 0; i < params.size(); ++i)
    EXPECT_EQ(values_of(again[i]), values_of(params[i]));
}

TEST_P(EachState, is_not_shared_with_the_optimizer_that_loads_it) {
  const auto params = fresh(), others = fresh();
  const auto first = GetParam().make(params), second = GetParam().make(others);
  take_steps(*first, params, 2);
  second->load_state_dict(first->state_dict());
  const State before = copied(first->state_dict());
  take_steps(*second, others, 1);
  const State now = first->state_dict().at("state").at("0");
  for (const auto& [key, value] : before.at("state").at("0").entries())
    EXPECT_EQ(values_of(to(now.at(key).as_tensor(), f64)), values_of(to(value.as_tensor(), f64)))
        << key;
}

TEST_P(EachState, is_loaded_to_where_the_parameters_are) {
  const auto params = fresh();
  const auto first = GetParam().make(params);
  take_steps(*first, params, 2);
  std::vector<Tensor> moved;
  for (const Tensor& each : params)
    moved.push_back(set_requires_grad(to(clone(detach(each)), device("reference:0"))));
  const auto second = GetParam().make(moved);
  second->load_state_dict(first->state_dict());
  take_steps(*first, params, 1);
  take_steps(*second, moved, 1);
  const Values ours = values_of(moved[0]), expected = values_of(params[0]);
  for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], expected[i], 1e-9);
}

TEST_P(EachState, of_another_model_is_refused_before_anything_changes) {
  const auto params = fresh();
  const auto optimizer = GetParam().make(params);
  take_steps(*optimizer, params, 1);
  const State saved = optimizer->state_dict();
  const std::vector<Tensor> other{set_requires_grad(zeros({3, 3}, f64)), leaf({1.0, 2.0})};
  const auto second = GetParam().make(other);
  second->set_option(0, "lr", 0.125);
  EXPECT_THAT(sentence_of([&] { second->load_state_dict(saved); }), HasSubstr("shape"));
  EXPECT_EQ(second->option(0, "lr").as_double(), 0.125);
  EXPECT_EQ(second->state_dict().at("state").size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(States, EachState, testing::ValuesIn(all_optimizers()), name_of_case);

TEST(States, have_pytorchs_layout) {
  const auto params = fresh();
  optim::Adam optimizer({params[0]}, {.lr = 0.1, .betas = {0.8, 0.9}});
  optimizer.add_param_group({params[1]}, {.lr = 0.2});
  make_gradients({params[1]});
  optimizer.step();
  const State state = optimizer.state_dict();
  EXPECT_EQ(state.at("state").size(), 1u);
  const State& kept = state.at("state").at("1");
  EXPECT_EQ(values_of(to(kept.at("step").as_tensor(), f64)), Values{1});
  EXPECT_EQ(kept.at("step").as_tensor().dtype(), f32);
  EXPECT_EQ(kept.at("exp_avg").as_tensor().shape(), params[1].shape());
  EXPECT_FALSE(kept.contains("max_exp_avg_sq"));
  const State::List& groups = state.at("param_groups").as_list();
  EXPECT_EQ(groups[1].at("lr").as_double(), 0.2);
  EXPECT_EQ(groups[0].at("betas").as_list()[0].as_double(), 0.8);
  EXPECT_EQ(groups[1].at("params").as_list()[0].as_int(), 1);
  EXPECT_TRUE(groups[0].at("foreach").is_none());
}

TEST(States, carry_what_schedulers_put_into_groups) {
  const auto params = fresh();
  optim::SGD first(params, {.lr = 0.1});
  optim::StepLR scheduler(first, {.step_size = 1, .gamma = 0.5});
  first.step();
  scheduler.step();
  optim::SGD second(params, {.lr = 7});
  second.load_state_dict(first.state_dict());
  EXPECT_EQ(second.options().lr, 0.05);
  EXPECT_EQ(second.option(0, "initial_lr").as_double(), 0.1);
}

TEST(States, that_do_not_fit_are_refused_with_both_values) {
  const auto params = fresh();
  optim::Adam adam(params);
  take_steps(adam, params, 1);
  const State saved = adam.state_dict();
  const auto complaint = [&](optim::Optimizer& optimizer, const State& state) {
    return sentence_of([&] { optimizer.load_state_dict(state); });
  };
  optim::SGD sgd(params);
  EXPECT_THAT(complaint(sgd, saved),
              HasSubstr("SGD: 'step' of parameter 0 is not part of the state of SGD"));
  optim::Adam one({params[0]});
  EXPECT_THAT(complaint(one, saved),
              HasSubstr("parameter group 0 has 2 parameters in the state and 1 in the optimizer"));
  optim::Adam two(optim::Adam::Groups{{{params[0]}, {}}, {{params[1]}, {}}});
  EXPECT_THAT(complaint(two, saved),
              HasSubstr("the state has 1 parameter groups and the optimizer 2"));
  EXPECT_THAT(complaint(adam, State::dict()), HasSubstr("no 'param_groups'"));
  EXPECT_THAT(complaint(adam, State(3)), HasSubstr("expected a dict and found an int"));

  State wrong = copied(saved);
  State kept = wrong.at("state");
  kept.set("9", kept.at("0"));
  wrong.set("state", kept);
  EXPECT_THAT(complaint(adam, wrong), HasSubstr("the state of parameter '9' belongs to none"));
  State stepless = State::dict({{"exp_avg", kept.at("0").at("exp_avg")}});
  wrong.set("state", State::dict({{"0", stepless}}));
  EXPECT_THAT(complaint(adam, wrong), HasSubstr("has no 'step', only: exp_avg"));
  State::List groups = saved.at("param_groups").as_list();
  groups[0].set("lr", "fast");
  wrong = copied(saved);
  wrong.set("param_groups", groups);
  EXPECT_THAT(complaint(adam, wrong), HasSubstr("Adam: 'lr' is a text; pass a number"));
}

}  // namespace
}  // namespace bp::test
