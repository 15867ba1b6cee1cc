// needs: cpu
// Steps are taken whole or not at all, by right options, in the parameters' dtype, and in few calls.
#include <map>
#include <set>

#include <backplane/amp/autocast.hpp>

#include "optim/all_optimizers.hpp"
#include "optim/mutations.hpp"

namespace bp::test {
namespace {

using namespace optim;
using testing::HasSubstr;

std::vector<OptimizerCase> with_muon() {
  std::vector<OptimizerCase> all = all_optimizers();
  all.push_back(optimizer_case<Muon>("Muon", {.lr = 0.05}));
  return all;
}

std::vector<Tensor> matrices(std::int64_t count, Dtype dtype = f64) {
  std::vector<Tensor> made;
  for (std::int64_t i = 0; i < count; ++i)
    made.push_back(set_requires_grad(
        to(reshape(arange(0, 6, 1, f64) * 0.3 - static_cast<double>(i % 7), {2, 3}), dtype)));
  return made;
}

std::string words_of_all(const Optimizer& optimizer) {
  State::List values;
  for (const Tensor& each : optimizer.parameters()) values.push_back(each);
  return words_of(State::dict({{"state", optimizer.state_dict()}, {"params", values}}));
}

class WholeSteps : public EachOptimizer {};

TEST_P(WholeSteps, begin_with_all_checks) {
  for (const int steps_before : {0, 2}) {
    const auto params = matrices(3);
    const auto optimizer = GetParam().make(params);
    for (int i = 0; i < steps_before; ++i) {
      make_gradients(params);
      optimizer->step();
    }
    make_gradients(params);
    set_data(grad(params[2]), zeros({2, 2}, f64));
    const std::string before = words_of_all(*optimizer);
    EXPECT_THAT(sentence_of([&] { optimizer->step(); }),
                HasSubstr("parameter 2 is float64 of shape [2, 3] on cpu:0, and its gradient "
                          "float64 of shape [2, 2]"));
    EXPECT_EQ(words_of_all(*optimizer), before);
    set_data(grad(params[2]), zeros({2, 3}, f32));
    EXPECT_THAT(sentence_of([&] { optimizer->step(); }), HasSubstr("its gradient float32"));
    EXPECT_EQ(words_of_all(*optimizer), before);
    make_gradients(params);
    optimizer->step();
  }
}

TEST_P(WholeSteps, refuse_parameters_of_another_shape_than_before) {
  const auto params = matrices(2);
  const auto optimizer = GetParam().make(params);
  make_gradients(params);
  optimizer->step();
  set_grad(params[1], {});
  set_data(params[1], ones({4, 2}, f64));
  make_gradients(params);
  const std::string before = words_of_all(*optimizer);
  EXPECT_THAT(sentence_of([&] { optimizer->step(); }), HasSubstr("make a new optimizer"));
  EXPECT_EQ(words_of_all(*optimizer), before);
}

TEST_P(WholeSteps, are_not_cast) {
  const auto plain = matrices(3, f32), within = matrices(3, f32);
  const auto first = GetParam().make(plain), second = GetParam().make(within);
  for (int i = 0; i < 3; ++i) {
    make_gradients(plain);
    make_gradients(within);
    clip_grad_norm_(plain, 1);
    first->step();
    const amp::Autocast scope("cpu");
    clip_grad_norm_(within, 1);
    second->step();
  }
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_EQ(values_of(to(detach(within[i]), f64)), values_of(to(detach(plain[i]), f64)));
}

TEST_P(WholeSteps, check_options_by_name) {
  const auto params = matrices(2);
  const auto optimizer = GetParam().make(params);
  make_gradients(params);
  optimizer->step();
  const std::string before = words_of_all(*optimizer);
  for (const char* name : {"lr", "weight_decay", "eps", "momentum"}) {
    if (!optimizer->has_option(0, name) || optimizer->option(0, name).is_list()) continue;
    for (const double odd : {-1.0, std::nan("")}) {
      EXPECT_THAT(sentence_of([&] { optimizer->set_option(0, name, odd); }),
                  HasSubstr("it must not be negative"))
          << name;
      EXPECT_EQ(words_of_all(*optimizer), before);
    }
  }
}

// A list of tensors is one argument, and cpu has a kernel for each row over lists: what a step calls does not grow.
TEST_P(WholeSteps, are_few_calls_whatever_the_number_of_parameters) {
  const auto calls = [&](std::int64_t count) {
    const auto params = matrices(count);
    const auto optimizer = GetParam().make(params);
    make_gradients(params);
    optimizer->step();
    reset_call_counts();
    optimizer->step();
    std::map<std::string, std::uint64_t> by_row;
    for (const CallCount& each : call_counts())
      for (std::uint32_t rung = 0; rung < num_rungs; ++rung)
        if (rung != static_cast<std::uint32_t>(Rung::view)) by_row[each.op] += each.calls[rung];
    return by_row;
  };
  auto few = calls(10);
  for (const auto& [row, num] : calls(200)) EXPECT_LE(num, few[row] + 2) << row;
}

INSTANTIATE_TEST_SUITE_P(Of, WholeSteps, testing::ValuesIn(with_muon()), name_of_case);

TEST(Steps, check_options_that_were_written) {
  const Tensor a = leaf({1.0}), b = leaf({1.0});
  SGD optimizer(SGD::Groups{{{a}, {.lr = 1}}, {{b}, {.lr = 1}}});
  backward(sum(a) + sum(b));
  optimizer.options(1).lr = -1;
  EXPECT_THAT(sentence_of([&] { optimizer.step(); }), HasSubstr("SGD: lr is -1"));
  EXPECT_EQ(values_of(a), Values{1});
}

TEST(Steps, of_lbfgs_are_not_cast_and_its_closure_is) {
  const Tensor w = set_requires_grad(ones({2, 2}, f32));
  LBFGS optimizer({w}, {.max_iter = 2});
  const amp::Autocast scope("cpu");
  std::vector<Dtype> seen;
  optimizer.step([&] {
    optimizer.zero_grad();
    const Tensor product = matmul(w, w);
    seen.push_back(product.dtype());
    const Tensor loss = sum(square(product));
    backward(loss);
    return loss;
  });
  for (const Dtype each : seen) EXPECT_EQ(each, bf16);
  EXPECT_EQ(optimizer.state_dict().at("state").at("0").at("d").as_tensor().dtype(), f32);
}

TEST(Steps, of_lbfgs_move_nothing_when_the_closure_throws_within_a_search) {
  const Tensor w = leaf({3.0, -2.0});
  LBFGS optimizer({w}, {.line_search_fn = "strong_wolfe"});
  int count = 0;
  EXPECT_THROW(optimizer.step([&]() -> Tensor {
    if (++count == 2) throw std::runtime_error("no more data");
    optimizer.zero_grad();
    const Tensor loss = sum(square(w));
    backward(loss);
    return loss;
  }),
               std::runtime_error);
  EXPECT_EQ(values_of(w), (Values{3, -2}));
}

TEST(Rprop, takes_infinite_gradients_by_their_sign) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor w = leaf({1.0, 1.0, 1.0});
  Rprop optimizer({w}, {.lr = 0.1});
  for (const Values& gradient : {Values{infinity, -infinity, 1}, Values{-infinity, -infinity, 1},
                                 Values{-1, -1, infinity}}) {
    set_grad(w, tensor(gradient));
    optimizer.step();
    for (const double each : values_of(w)) EXPECT_TRUE(std::isfinite(each));
  }
  // As PyTorch 2: the first turned twice, the others went on.
  EXPECT_NEAR(values_of(w)[1], 1 + 0.1 + 0.12 + 0.144, 1e-12);
  EXPECT_NEAR(values_of(w)[2], 1 - 0.1 - 0.12 - 0.144, 1e-12);
}

TEST(Optimizers, detach_the_gradients_that_they_fill_with_0) {
  const Tensor a = leaf({1.0, 2.0});
  SGD optimizer({a});
  backward(sum(a * a * a), {}, {.create_graph = true});
  EXPECT_TRUE(requires_grad(grad(a)));
  optimizer.zero_grad(false);
  EXPECT_FALSE(requires_grad(grad(a)));
  EXPECT_EQ(values_of(grad(a)), (Values{0, 0}));
}

TEST(Schedulers, set_no_rate_if_one_is_wrong) {
  SGD optimizer(SGD::Groups{{{leaf({1.0})}, {.lr = 1}}, {{leaf({1.0})}, {.lr = 2}}});
  const auto first = [](std::int64_t) { return 0.5; };
  const auto second = [](std::int64_t epoch) { return epoch == 1 ? -1.0 : 0.5; };
  LambdaLR scheduler(optimizer, std::vector<RateFunction>{first, second});
  optimizer.options(0).lr = 0.75;
  EXPECT_THAT(sentence_of([&] { scheduler.step(); }), HasSubstr("lr is -2"));
  EXPECT_EQ(optimizer.options(0).lr, 0.75);
  EXPECT_EQ(scheduler.last_epoch(), 0);
}

TEST(Clipping, takes_gradients_without_elements) {
  const Tensor none = set_requires_grad(zeros({0, 3}, f64)), some = leaf({1.0, 1.0});
  for (const double norm_type : {1.0, 2.0, std::numeric_limits<double>::infinity()}) {
    set_grad(none, zeros({0, 3}, f64));
    EXPECT_EQ(values_of(clip_grad_norm_(std::vector{none}, 1, norm_type)), Values{0});
    set_grad(some, tensor(Values{3, -4}));
    const Tensor total = clip_grad_norm_(std::vector{none, some}, 1, norm_type);
    EXPECT_NEAR(values_of(total)[0], norm_type == 1 ? 7 : norm_type == 2 ? 5 : 4, 1e-12);
  }
}

}  // namespace
}  // namespace bp::test
