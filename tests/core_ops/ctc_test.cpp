// needs: cpu
// ctc_loss and its derivative behind log_softmax, against values that PyTorch 2 gave for the same inputs, and against a
// sum over all ways.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "core_ops/peer_values.hpp"

namespace bp {
namespace {

using test::computed;
using test::error_of;
using test::expect_peer;
using test::expect_values;
using test::Leaves;

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor scores_of_steps() {
  return computed({6, 3, 5}, [](int i) { return std::sin(1.3 * i + 0.2) * 2; });
}
Tensor labels() {
  return tensor({{1, 1, 2}, {3, 0, 0}, {4, 2, 4}});
}

TEST(CtcLoss, is_pytorchs) {
  const Tensor steps = tensor({6, 4, 5}), counts = tensor({3, 1, 3});
  expect_peer([&](Leaves in) { return ctc_loss(log_softmax(in[0], 2), labels(), steps, counts); },
              {scores_of_steps()}, {3.173034929042066}, {0.006585714675299559});
  expect_peer(
      [&](Leaves in) {
        return ctc_loss(log_softmax(in[0], 2), labels(), steps, counts, 0, "none");
      },
      {scores_of_steps()}, {7.363255865888496, 4.866967520877049, 6.5931559328589495},
      {-0.18065629338358374});
  const Tensor in_a_row = tensor({1, 1, 2, 3, 4, 2, 4});
  expect_peer(
      [&](Leaves in) { return ctc_loss(log_softmax(in[0], 2), in_a_row, steps, counts, 0, "sum"); },
      {scores_of_steps()}, {18.823379319624493}, {-0.6834889615895527});
}

TEST(CtcLoss, leaves_out_what_is_no_label) {
  const Tensor padded = tensor({{1, 1, 2}, {3, -7, 99}, {0, 2, 0}});
  expect_peer(
      [&](Leaves in) {
        return ctc_loss(log_softmax(in[0], 2), padded, tensor({6, 4, 5}), tensor({3, 1, 3}), 4);
      },
      {scores_of_steps()}, {4.2176775305618035}, {0.075323127606162});
}

TEST(CtcLoss, of_no_steps_and_no_labels_is_nothing) {
  expect_peer(
      [&](Leaves in) {
        return ctc_loss(log_softmax(in[0], 2), labels(), tensor({6, 0, 3}), tensor({3, 0, 3}), 0,
                        "none", true);
      },
      {scores_of_steps()}, {7.363255865888496, 0, 8.095459010779491}, {0.08616084141386994});
}

TEST(CtcLoss, of_what_does_not_fit_is_infinite_or_nothing) {
  const Tensor steps = tensor({3, 0, 2}), counts = tensor({3, 1, 3});
  expect_peer(
      [&](Leaves in) {
        return ctc_loss(log_softmax(in[0], 2), labels(), steps, counts, 0, "none", true);
      },
      {scores_of_steps()}, {0, 0, 0}, {0});
  const Tensor logs = log_softmax(scores_of_steps(), 2);
  EXPECT_EQ(to_vector<double>(ctc_loss(logs, labels(), steps, counts, 0, "none")),
            (std::vector<double>{infinity, infinity, infinity}));
  set_requires_grad(logs);
  const Tensor gradient =
      autograd::grad({ctc_loss(logs, labels(), steps, counts, 0, "sum")}, {logs})[0];
  // Of the steps that count: three and two, of five classes.
  EXPECT_EQ(item<std::int64_t>(sum(cast(isnan(gradient), i64))), 25);
}

TEST(CtcLoss, takes_chances_of_nothing) {
  const Tensor logs = log_softmax(scores_of_steps(), 2);
  const Tensor blocked = where(eq(arange(0, 5, 1, i64), 3), -infinity, logs);
  const Tensor loss = ctc_loss(blocked, labels(), tensor({6, 4, 5}), tensor({3, 1, 3}), 0, "none");
  expect_values(narrow(loss, 0, 0, 1), {7.363255865888496});
  EXPECT_EQ(to_vector<double>(loss)[1], infinity);
  expect_values(narrow(loss, 0, 2, 1), {6.5931559328589495});
}

// All ways of two steps that emit the one label 1: "11", "1-", "-1".
TEST(CtcLoss, of_one_sequence_is_a_sum_over_all_ways) {
  const Tensor logs = log(tensor<double>({{0.5, 0.5}, {0.25, 0.75}}, {f64}));
  const double chance = 0.5 * 0.75 + 0.5 * 0.25 + 0.5 * 0.75;
  const Tensor loss = ctc_loss(logs, tensor({1}), tensor(2), tensor(1), 0, "none");
  EXPECT_EQ(loss.ndim(), 0);
  expect_values(loss, {-std::log(chance)});
}

TEST(CtcLoss, refuses_what_does_not_belong_together) {
  const Tensor logs = zeros({6, 3, 5}, f64);
  EXPECT_EQ(error_of([&] {
              ctc_loss(logs, labels(), tensor({6, 4}), tensor({3, 1, 3}));
            }),
            "ctc_loss: input_lengths is int64 of shape [2]; pass 3 whole numbers");
  EXPECT_EQ(error_of([&] {
              ctc_loss(logs, labels(), tensor({6, 4, 5}), tensor({3, 1, 3}), 5);
            }),
            "ctc_loss: blank is 5 of 5 classes; pass one of them");
  EXPECT_NE(error_of([&] {
              to_vector<double>(ctc_loss(logs, labels(), tensor({7, 4, 5}), tensor({3, 1, 3})));
            }),
            "no error");
}

}  // namespace
}  // namespace bp
