// needs: cpu once
// Saved states with one odd value: refused with a sentence before anything changes, or taken, and then steps end.
#include "optim/all_optimizers.hpp"
#include "optim/all_schedulers.hpp"
#include "optim/mutations.hpp"

namespace bp::test {
namespace {

using namespace optim;

// An optimizer over parameters of its own, some steps on.
struct Trained {
  Trained(const OptimizerCase& given, int count)
      : params{set_requires_grad(reshape(arange(0, 6, 1, f64) * 0.5, {2, 3})),
               set_requires_grad(reshape(arange(0, 4, 1, f64) - 1.5, {2, 2}))},
        optimizer(given.make(params)) {
    for (int i = 0; i < count; ++i) step();
  }
  State state() const {
    State::List values;
    for (const Tensor& each : params) values.push_back(each);
    return State::dict({{"optimizer", optimizer->state_dict()}, {"params", values}});
  }
  void load(const State& given) { optimizer->load_state_dict(given); }
  void step() {
    optimizer->step([&] {
      make_gradients(params);
      return sum(square(params[0] - 1)) * 0.5 + sum(square(params[1] - 1)) * 0.5;
    });
  }

  std::vector<Tensor> params;
  std::unique_ptr<Optimizer> optimizer;
};

class OddStates : public EachOptimizer {};

TEST_P(OddStates, are_refused_or_gone_on_from) {
  const Trained saved(GetParam(), 3);
  expect_survives<Trained>(saved.optimizer->state_dict(),
                           [&] { return std::make_unique<Trained>(GetParam(), 1); });
}

// Calls use(state with one number replaced, what) for each number that `odd_of` has another one for.
void each_odd_number(const State& state, const std::function<State(const State&)>& odd_of,
                     const std::string& path, const UseMutation& use) {
  if (const State odd = odd_of(state); !odd.is_none()) return use(odd, path);
  if (state.is_list())
    for (std::size_t i = 0; i < state.size(); ++i)
      each_odd_number(state.as_list()[i], odd_of, path + "." + std::to_string(i),
                      [&](const State& value, const std::string& what) {
                        State::List changed = state.as_list();
                        changed[i] = value;
                        use(changed, what);
                      });
  if (!state.is_dict()) return;
  for (const auto& [key, value] : state.entries())
    each_odd_number(value, odd_of, path + "." + key,
                    [&, &key = key](const State& odd, const std::string& what) {
                      State changed = state;
                      changed.set(key, odd);
                      use(changed, what);
                    });
}

State as_complex(const State& value) {
  const bool is_number =
      value.is_int() || value.is_double() || (value.is_tensor() && value.as_tensor().numel() == 1);
  return is_number ? State(full({}, std::complex<double>(2, 1), complex128)) : State();
}

State with_a_fraction(const State& value) {
  return value.is_int() ? State(value.as_double() + 0.5) : State();
}

template <class T> void expect_refuses_odd_numbers(const State& saved, T& one) {
  for (const auto& odd_of : {as_complex, with_a_fraction})
    each_odd_number(saved, odd_of, "state", [&](const State& odd, const std::string& what) {
      EXPECT_GT(sentence_of([&] { one.load(odd); }).size(), 10u) << what;
    });
}

TEST_P(OddStates, with_imaginary_parts_or_fractions_of_counts_are_refused) {
  Trained one(GetParam(), 3);
  State saved = copied(one.optimizer->state_dict());
  expect_refuses_odd_numbers(saved, one);
  State kept = saved.at("state"), first = kept.at("0");
  if (!first.contains("step")) return;
  first.set("step", full({}, 2.5, f32));
  kept.set("0", first);
  saved.set("state", kept);
  EXPECT_THAT(sentence_of([&] { one.load(saved); }),
              testing::HasSubstr("'step' of parameter 0 is 2.5; it must be a whole number"));
}

INSTANTIATE_TEST_SUITE_P(Of, OddStates, testing::ValuesIn(all_and_special_optimizers()),
                         name_of_case);

// A scheduler over an optimizer of its own.
struct Scheduled {
  Scheduled(const MakeScheduler& make, int count)
      : optimizer(SGD::Groups{{{leaf({1.0})}, {.lr = 0.5, .momentum = 0.5}},
                              {{leaf({2.0})}, {.lr = 0.1, .momentum = 0.5}}}),
        scheduler(make(optimizer)) {
    for (int i = 0; i < count; ++i) step();
  }
  State state() const { return scheduler->state_dict(); }
  void load(const State& given) { scheduler->load_state_dict(given); }
  void step() {
    scheduler->step();
    static_cast<void>(scheduler->get_last_lr().at(1));
  }

  SGD optimizer;
  std::shared_ptr<LRScheduler> scheduler;
};

struct Plateaued {
  Plateaued() : optimizer({leaf({1.0})}, {.lr = 0.5}), scheduler(optimizer, {.patience = 0}) {
    step();
    step();
  }
  State state() const { return scheduler.state_dict(); }
  void load(const State& given) { scheduler.load_state_dict(given); }
  void step() {
    scheduler.step(1.0);
    static_cast<void>(scheduler.get_last_lr().at(0));
  }

  SGD optimizer;
  ReduceLROnPlateau scheduler;
};

TEST(OddStates, of_schedulers_are_refused_or_gone_on_from) {
  for (const auto& [name, make] : all_schedulers()) {
    SCOPED_TRACE(name);
    expect_survives<Scheduled>(Scheduled(make, 3).state(),
                               [&make = make] { return std::make_unique<Scheduled>(make, 1); });
    Scheduled one(make, 1);
    expect_refuses_odd_numbers(one.state(), one);
  }
  expect_survives<Plateaued>(Plateaued().state(), [] { return std::make_unique<Plateaued>(); });
  Plateaued one;
  expect_refuses_odd_numbers(one.state(), one);
}

TEST(OddStates, of_averages_are_refused) {
  AveragedModel averages({tensor(Values{1})});
  for (const State& odd : {State(-1), State(std::nan("")), State(1e300), State(0.5), State("x"),
                           State(), State(Tensor()), as_complex(1)}) {
    EXPECT_THROW(averages.load_state_dict(State::dict({{"n_averaged", odd}})), Error);
    EXPECT_EQ(averages.n_averaged(), 0);
  }
}

TEST(OddStates, with_a_parameter_twice_are_refused) {
  const std::vector<Tensor> params{leaf({1.0}), leaf({2.0})};
  Adam adam(params);
  make_gradients(params);
  adam.step();
  State state = copied(adam.state_dict());
  State::List groups = state.at("param_groups").as_list();
  groups[0].set("params", State::List{0, 0});
  state.set("param_groups", groups);
  EXPECT_THAT(sentence_of([&] { adam.load_state_dict(state); }),
              testing::HasSubstr("Adam: the state has parameter 0 twice"));
}

}  // namespace
}  // namespace bp::test
