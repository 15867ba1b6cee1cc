// needs: cpu reference
// update_bn: statistics are those of the batches alone, and all else is as before.
#include <backplane/nn/update_bn.hpp>
#include <backplane/state/state.hpp>

#include "nn/networks.hpp"

namespace bp::test {
namespace {

using testing::HasSubstr;

// Two norms one after the other, a layer between that drops in training, and one that is frozen.
struct Normed : nn::Module {
  nn::BatchNorm1d first{2, {.momentum = 0.3, .dtype = f64}};
  nn::Linear between{2, 3, {.dtype = f64}};
  nn::BatchNorm1d last{3, {.momentum = std::nullopt, .dtype = f64}};
  nn::BatchNorm1d without{3, {.track_running_stats = false, .dtype = f64}};

  Normed() { between.eval(), last.eval(); }
  void list_parts(nn::Parts& parts) override {
    parts.module("first", first);
    parts.module("between", between);
    parts.module("last", last);
    parts.module("without", without);
  }
  Tensor forward(const Tensor& x) const override { return without(last(between(first(x)))); }
};

std::vector<Tensor> batches() {
  manual_seed(3);
  return {rand({4, 2}, f64) * 3, rand({5, 2}, f64) + 1, rand({3, 2}, f64) - 2};
}

std::vector<std::vector<double>> statistics_of(const nn::Module& model) {
  std::vector<std::vector<double>> all;
  for (const Tensor& each : model.buffers()) all.push_back(numbers_of(to(each, f64)));
  return all;
}

void expect_modes_and_momenta_of_before(const Normed& net) {
  EXPECT_EQ(net.first.momentum(), 0.3);
  EXPECT_EQ(net.last.momentum(), std::nullopt);
  EXPECT_TRUE(net.is_training());
  EXPECT_TRUE(net.first.is_training());
  EXPECT_FALSE(net.between.is_training());
  EXPECT_FALSE(net.last.is_training());
}

TEST(UpdateBn, takes_the_means_over_all_batches) {
  Normed net;
  net.first(ones({2, 2}, f64) * 100);  // which is forgotten
  nn::update_bn(batches(), net);
  Tensor mean = zeros({2}, f64), variance = zeros({2}, f64), last = zeros({3}, f64);
  for (const Tensor& x : batches()) {
    const Tensor centered = x - bp::mean(x, 0);
    add_(mean, bp::mean(x, 0), 1.0 / 3);
    add_(variance, sum(square(centered), 0), 1.0 / 3 / static_cast<double>(x.size(0) - 1));
    const Tensor normed = centered * rsqrt(bp::mean(square(centered), 0) + 1e-5);
    add_(last, detach(bp::mean(net.between(normed), 0)), 1.0 / 3);
  }
  for (const auto& [found, expected] : {std::pair{net.first.running_mean, mean},
                                        {net.first.running_var, variance},
                                        {net.last.running_mean, last}})
    EXPECT_LT(item<double>(max(abs(found - expected))), 1e-12);
  EXPECT_EQ(item<std::int64_t>(net.first.num_batches_tracked), 3);
  expect_modes_and_momenta_of_before(net);
  EXPECT_FALSE(requires_grad(net.last.running_mean));
}

// torch 2.15: update_bn of a BatchNorm1d(1) that has seen other batches.
TEST(UpdateBn, agrees_with_pytorchs_numbers) {
  nn::BatchNorm1d norm(1, {.dtype = f64});
  norm(tensor({{5.0}, {7.0}}, {f64}));
  nn::update_bn(std::vector{tensor({{1.0}, {2.0}, {6.0}}, {f64}), tensor({{-1.0}, {4.0}}, {f64})},
                norm);
  EXPECT_NEAR(numbers_of(norm.running_mean)[0], 2.25, 1e-14);
  EXPECT_NEAR(numbers_of(norm.running_var)[0], 9.75, 1e-14);
}

TEST(UpdateBn, takes_the_first_tensor_of_a_batch_of_any_form) {
  Normed expected, pairs, lists, states, elsewhere;
  for (Normed* each : {&pairs, &lists, &states, &elsewhere})
    each->load_state_dict(expected.state_dict());
  std::vector<std::pair<Tensor, int>> of_pairs;
  std::vector<std::vector<Tensor>> of_lists;
  std::vector<State> of_states;
  for (const Tensor& x : batches()) {
    of_pairs.emplace_back(x, 7);
    of_lists.push_back({x, ones({2})});
    of_states.emplace_back(State::List{State::List{x, 1}, 7});
  }
  nn::update_bn(batches(), expected);
  nn::update_bn(of_pairs, pairs);
  nn::update_bn(of_lists, lists);
  nn::update_bn(of_states, states);
  for (const Normed* each : {&pairs, &lists, &states})
    EXPECT_EQ(statistics_of(*each), statistics_of(expected));
  elsewhere.to(device("reference:0"));
  nn::update_bn(of_lists, elsewhere, device("reference:0"));
  EXPECT_EQ(elsewhere.first.running_mean.device(), device("reference:0"));
  EXPECT_NEAR(numbers_of(elsewhere.first.running_mean)[1],
              numbers_of(expected.first.running_mean)[1], 1e-12);
}

TEST(UpdateBn, changes_nothing_if_a_batch_is_wrong_or_there_is_none) {
  Normed net;
  net(batches()[0]);
  const auto before = statistics_of(net);
  const auto expect_refused = [&](const auto& all, const char* words) {
    EXPECT_THAT([&] { nn::update_bn(all, net); }, ThrowsMessage<Error>(HasSubstr(words)));
    EXPECT_EQ(statistics_of(net), before);
    expect_modes_and_momenta_of_before(net);
  };
  expect_refused(std::vector{batches()[1], ones({4, 5}, f64)}, "5 channels");
  expect_refused(std::vector<Tensor>{}, "there is no batch");
  expect_refused(std::vector<std::vector<Tensor>>(1), "a batch is an empty list");
  expect_refused(std::vector{State::dict({{"x", batches()[0]}})}, "a dict");
}

TEST(UpdateBn, reads_nothing_for_a_model_without_batch_norms) {
  nn::Linear layer(2, 3);
  layer.eval();
  nn::update_bn(std::vector{ones({1, 99})}, layer);
  EXPECT_FALSE(layer.is_training());
}

}  // namespace
}  // namespace bp::test
