// needs: cpu
// Losses and their gradients against values that PyTorch 2 gave for the same inputs.
#include "core_ops/peer_values.hpp"

namespace bp {
namespace {

using test::cosines;
using test::error_of;
using test::expect_peer;
using test::expect_values;
using test::Leaves;
using test::parts;
using test::sines;
using test::weights;

Tensor four_classes() {
  return tensor({2, 0, 5, 3});
}

TEST(Loss, distances_are_pytorchs) {
  expect_peer([](Leaves in) { return mse_loss(in[0], in[1]); }, {sines(), cosines()},
              {2.8222949691917925}, {0.0025795369798217727, -0.0025795369798217727});
  expect_peer([](Leaves in) { return l1_loss(in[0], in[1]); }, {sines(), cosines()},
              {1.3586822091846642}, {-0.02857919328149407, 0.02857919328149407});
  expect_peer([](Leaves in) { return smooth_l1_loss(in[0], in[1], "mean", 0.5); },
              {sines(), cosines()}, {1.1323337973053171},
              {0.02216314802633323, -0.02216314802633323});
}

TEST(Loss, reductions_sum_up_what_none_gives) {
  const Tensor each = mse_loss(sines(), cosines(), "none");
  EXPECT_EQ(to_string(each.shape()), "[4, 6]");
  double total = 0;
  for (double value : to_vector<double>(each)) total += value;
  expect_values(mse_loss(sines(), cosines(), "sum"), {total});
  expect_values(mse_loss(sines(), cosines(), "mean"), {total / 24});
  expect_values(smooth_l1_loss(sines(), cosines(), "sum", 0),
                to_vector<double>(l1_loss(sines(), cosines(), "sum")));
}

TEST(Loss, entropy_of_logits_is_pytorchs) {
  expect_peer([](Leaves in) { return binary_cross_entropy_with_logits(in[0], in[1]); },
              {sines(), parts()}, {0.9572260064571934},
              {0.028819492964004947, -0.13189887089974242});
  const Tensor pos_weight = weights() + 1.0;
  expect_peer(
      [&](Leaves in) {
        return binary_cross_entropy_with_logits(in[0], in[1], weights(), "sum", pos_weight);
      },
      {sines(), parts()}, {71.58700768518398}, {9.755280033425004, -25.448718254768927});
}

TEST(Loss, entropy_of_logits_neither_overflows_nor_loses_small_losses) {
  const Tensor logits = tensor(std::vector<double>{100, -100, 0, 50});
  const Tensor target = tensor(std::vector<double>{0, 1, 0.5, 1});
  const Tensor loss = binary_cross_entropy_with_logits(logits, target, {}, "none");
  expect_values(loss, {100, 100, 0.6931471805599453, 0});
  EXPECT_NEAR(to_vector<double>(loss)[3], 1.9287498479639178e-22, 1e-36);
  set_requires_grad(logits);
  const Tensor total = binary_cross_entropy_with_logits(logits, target, {}, "sum");
  expect_values(autograd::grad({total}, {logits})[0], {1, -1, 0, -std::exp(-50.0)});
}

TEST(Loss, hinge_embedding_takes_a_side_where_the_target_names_one) {
  const Tensor input = tensor(std::vector<double>{0.5, -2, 3, 0.25});
  const Tensor target = tensor(std::vector<double>{1, -1, -1, -1});
  expect_values(hinge_embedding_loss(input, target, 1.0, "none"), {0.5, 3, 0, 0.75});
  set_requires_grad(input);
  expect_values(autograd::grad({hinge_embedding_loss(input, target, 1.0, "sum")}, {input})[0],
                {1, -1, 0, -1});
}

TEST(Loss, divergences_are_pytorchs) {
  expect_peer([](Leaves in) { return kl_div(in[0], in[1]); }, {sines(), parts()},
              {-0.21223640708468353}, {0.0005579326150539632, -0.12361767803309431});
  expect_peer([](Leaves in) { return kl_div(in[0], in[1], "batchmean"); }, {sines(), parts()},
              {-1.2734184425081012}, {0.003347595690323779, -0.7417060681985663});
  expect_peer([](Leaves in) { return kl_div(in[0], in[1], "mean", true); }, {sines(), cosines()},
              {1.6769274380234014}, {-0.15188123847909624, 0.23512931145009985});
}

TEST(Loss, a_chance_of_zero_diverges_by_zero) {
  const Tensor input = tensor(std::vector<double>{0.1, -0.5});
  const Tensor target = tensor(std::vector<double>{0, 0.5});
  expect_values(kl_div(input, target, "none"), {0, -0.09657359027997264});
}

TEST(Loss, likelihoods_are_pytorchs) {
  const Tensor classes = four_classes();
  expect_peer([&](Leaves in) { return nll_loss(in[0], classes); }, {sines()}, {-0.8598109098116686},
              {-0.009567012679144088});
  expect_peer([&](Leaves in) { return nll_loss(in[0], classes, weights(), 5); }, {sines()},
              {-1.1067577355530736}, {-0.1493640878858808});
  expect_peer([&](Leaves in) { return nll_loss(in[0], classes, weights(), 5, "none"); }, {sines()},
              {-1.3399526006236187, -0.9893582466233818, 0, -2.097720094965293},
              {-0.4728697978997329});
}

TEST(Loss, entropy_of_classes_is_pytorchs) {
  const Tensor classes = four_classes();
  expect_peer([&](Leaves in) { return cross_entropy(in[0], classes); }, {sines()},
              {1.7400379834000845}, {0.09638616197089302});
  expect_peer([&](Leaves in) { return cross_entropy(in[0], classes, weights(), 5, "mean", 0.1); },
              {sines()}, {1.5761421017521433}, {0.2912564907865536});
  expect_peer([&](Leaves in) { return cross_entropy(in[0], classes, {}, 0, "mean", 0.2); },
              {sines()}, {2.1228193123360346}, {0.31979813507877813});
  expect_peer([&](Leaves in) { return cross_entropy(in[0], classes, weights(), 0, "none", 0.2); },
              {sines()}, {3.6969709410921423, 0, 8.150688087704467, 1.9347149541974549},
              {-0.0495435298367491});
}

TEST(Loss, entropy_of_probabilities_is_pytorchs) {
  expect_peer([](Leaves in) { return cross_entropy(in[0], in[1]); }, {sines(), parts()},
              {7.81125053781199}, {0.1670481276967127, -0.7537235718150197});
  expect_peer([](Leaves in) { return cross_entropy(in[0], in[1], weights(), -100, "mean", 0.1); },
              {sines(), parts()}, {11.015960297247945}, {0.5389990197072192, -2.397200750621967});
  expect_peer([](Leaves in) { return cross_entropy(in[0], in[1], weights(), -100, "none", 0.1); },
              {sines(), parts()},
              {8.93266528198097, 7.7605086366907505, 16.171125242600212, 11.199542027719847},
              {1.088020530152832, 2.8112191639503847});
}

TEST(Loss, classes_lie_along_the_second_dimension_or_the_only_one) {
  const Tensor images = tensor({{{0, 2}, {1, 1}}, {{2, 0}, {-100, 1}}});
  expect_peer(
      [&](Leaves in) {
        return cross_entropy(reshape(in[0], {2, 3, 2, 2}), images);
      },
      {sines()}, {1.7847390511486496}, {-0.5522406492557597});
  expect_peer([](Leaves in) { return cross_entropy(in[0], tensor(1)); },
              {clone(select(sines(), 0, 0))}, {0.6039342667756468}, {-0.37147062502617817});
}

TEST(Loss, ignored_samples_do_not_count_even_if_they_are_infinite) {
  const Tensor none_left = nll_loss(sines(), zeros({4}, i64), {}, 0);
  EXPECT_TRUE(std::isnan(item<double>(none_left)));
  const Tensor logs = tensor(std::vector<double>{-1, -INFINITY}, {2, 1});
  expect_values(nll_loss(reshape(logs, {1, 2, 1}), tensor({{0}})), {1});
  expect_values(nll_loss(tensor(std::vector<double>{-INFINITY, -2}, {2, 1}), tensor({-100, 0})),
                {2});
}

TEST(Loss, errors_say_what_does_not_fit) {
  const Tensor input = sines();
  EXPECT_EQ(error_of([&] { mse_loss(input, input, "avg"); }),
            "mse_loss: reduction is 'avg', which is none of 'mean', 'sum' and 'none'; pass one of "
            "these");
  EXPECT_EQ(error_of([&] { nll_loss(input, zeros({3}, i64)); }),
            "nll_loss: input has shape [4, 6] and target [3]; target has input's shape without the "
            "classes, [4]");
  EXPECT_EQ(error_of([&] {
              cross_entropy(input, zeros({4, 6}, i64));
            }),
            "cross_entropy: input has shape [4, 6] and target [4, 6]; target has input's shape "
            "without the classes, [4]");
  EXPECT_EQ(
      error_of([&] { nll_loss(input, zeros({4})); }),
      "nll_loss: target of shape [4] is float32 and input has shape [4, 6]; classes are int64: "
      "cast it");
  EXPECT_EQ(error_of([&] { nll_loss(input, four_classes(), ones({5}, f64)); }),
            "nll_loss: weight has shape [5] and there are 6 classes; give one weight for each");
  EXPECT_EQ(error_of([&] { cross_entropy(input, four_classes(), {}, -100, "mean", 1.5); }),
            "cross_entropy: label_smoothing is 1.5; pass a number from 0 to 1");
  EXPECT_EQ(error_of([&] { smooth_l1_loss(input, input, "mean", -1); }),
            "smooth_l1_loss: beta is -1, and must not be below 0; pass 0 for l1_loss");
  EXPECT_EQ(error_of([&] { binary_cross_entropy_with_logits(input, weights()); }),
            "binary_cross_entropy_with_logits: input has shape [4, 6] and target [6]; make them "
            "equal");
  EXPECT_THROW(nll_loss(input, tensor({0, 1, 2, 6})), Error);
}

}  // namespace
}  // namespace bp
