// needs: cpu reference
// What layers do in training and in evaluation, what they write, and where they run.
#include "nn/networks.hpp"

namespace bp::test {
namespace {

TEST(BatchNorm, keeps_running_statistics_in_training_alone) {
  nn::BatchNorm1d norm(2, {.momentum = 0.5, .dtype = f64});
  const Tensor x = tensor({{1.0, 10.0}, {3.0, 30.0}}, {f64});
  norm(x);
  EXPECT_THAT(numbers_of(norm.running_mean), ElementsAre(1, 10));      // half of 2 and 20
  EXPECT_THAT(numbers_of(norm.running_var), ElementsAre(1.5, 100.5));  // unbiased: 2 and 200
  EXPECT_EQ(item<std::int64_t>(norm.num_batches_tracked), 1);
  norm.eval();
  norm(x);
  EXPECT_EQ(item<std::int64_t>(norm.num_batches_tracked), 1);
  EXPECT_THAT(numbers_of(norm.running_mean), ElementsAre(1, 10));
  norm.reset_running_stats();
  EXPECT_THAT(numbers_of(norm.running_var), ElementsAre(1, 1));
}

TEST(BatchNorm, without_momentum_has_the_mean_of_all_batches) {
  nn::BatchNorm1d norm(1, {.momentum = std::nullopt, .dtype = f64});
  for (double level : {1.0, 2.0, 6.0}) norm(tensor({{level}, {level + 1}}, {f64}));
  EXPECT_NEAR(numbers_of(norm.running_mean)[0], 3.5, 1e-12);
}

TEST(BatchNorm, of_copies_share_their_statistics_and_clones_do_not) {
  nn::BatchNorm1d norm(1);
  const nn::BatchNorm1d copy = norm;
  const nn::BatchNorm1d apart = nn::clone(norm);
  norm(tensor({{1.0f}, {3.0f}}));
  EXPECT_EQ(item<std::int64_t>(copy.num_batches_tracked), 1);
  EXPECT_EQ(item<std::int64_t>(apart.num_batches_tracked), 0);
}

TEST(Norms, begin_as_the_identity_of_weight_and_bias) {
  const nn::LayerNorm layer({2, 3});
  EXPECT_EQ(layer.weight.shape(), Dims({2, 3}));
  EXPECT_EQ(item<double>(sum(layer.weight)), 6);
  EXPECT_EQ(item<double>(sum(layer.bias)), 0);
  EXPECT_EQ(names_of(nn::GroupNorm(1, 4, {.bias = false}).named_parameters()),
            std::vector<std::string>({"weight"}));
}

// The bound, and that numbers come near it.
void expect_uniform(const Tensor& weight, double bound) {
  const double largest = item<double>(max(abs(cast(detach(weight), f64))));
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, 0.9 * bound);
  EXPECT_NEAR(item<double>(mean(cast(detach(weight), f64))), 0, 0.1 * bound);
}

TEST(Convolutions, begin_uniform_by_how_many_numbers_go_into_one) {
  manual_seed(4);
  expect_uniform(nn::Conv2d(8, 40, {3, 2}, {.groups = 2}).weight, 1 / std::sqrt(4 * 6));
  expect_uniform(nn::Conv1d(8, 400, 3).bias, 1 / std::sqrt(8 * 3));
  expect_uniform(nn::ConvTranspose2d(40, 8, {3, 2}, {.groups = 2}).weight, 1 / std::sqrt(4 * 6));
  expect_uniform(nn::Bilinear(9, 20, 30).weight, 1.0 / 3);
}

TEST(Dropout, is_nothing_in_evaluation_and_zeroes_its_part_in_training) {
  manual_seed(5);
  nn::Dropout drop({.p = 0.25});
  const Tensor x = ones({4000});
  const Tensor result = drop(x);
  EXPECT_NEAR(item<double>(mean(cast(result == 0, f64))), 0.25, 0.03);
  EXPECT_NEAR(item<double>(max(result)), 1 / 0.75, 1e-6);
  drop.eval();
  EXPECT_TRUE(equal(drop(x), x));
}

TEST(Dropout, in_place_writes_over_its_argument) {
  manual_seed(5);
  const Tensor x = ones({100});
  const Tensor result = nn::Dropout({.inplace = true})(x);
  EXPECT_TRUE(equal(result, x));
  EXPECT_LT(item<double>(min(x)), 1);
}

TEST(AlphaDropout, keeps_mean_and_variance) {
  manual_seed(6);
  const Tensor x = randn({40000}, f64);
  const Tensor result = nn::AlphaDropout({.p = 0.3})(x);
  EXPECT_NEAR(item<double>(mean(result)), 0, 0.03);
  EXPECT_NEAR(item<double>(mean(result * result)), 1, 0.05);
}

TEST(Activations, in_place_write_over_their_argument_and_return_it) {
  const Tensor x = tensor({-1.0, 2.0});
  const Tensor result = nn::ReLU({.inplace = true})(x);
  EXPECT_EQ(numbers_of(x), Values({0, 2}));
  EXPECT_EQ(result.data_ptr(), x.data_ptr());
  const Tensor y = tensor({-1.0, 2.0});
  nn::ReLU()(y);
  EXPECT_EQ(numbers_of(y), Values({-1, 2}));
}

TEST(Embedding, begins_normal_and_its_padding_row_as_zeros) {
  manual_seed(7);
  const nn::Embedding table(400, 20, {.padding_idx = -1, .dtype = f64});
  const Tensor rows = narrow(detach(table.weight), 0, 0, 399);
  EXPECT_NEAR(item<double>(mean(rows)), 0, 0.05);
  EXPECT_NEAR(item<double>(mean(rows * rows)), 1, 0.06);
  EXPECT_EQ(item<double>(sum(abs(select(table.weight, 0, 399)))), 0);
}

TEST(Embedding, from_pretrained_learns_only_if_it_is_not_frozen) {
  const Tensor numbers = ones({3, 2});
  EXPECT_FALSE(requires_grad(nn::Embedding::from_pretrained(numbers).weight));
  EXPECT_TRUE(requires_grad(nn::Embedding::from_pretrained(numbers, false).weight));
  EXPECT_EQ(nn::Embedding::from_pretrained(numbers)(tensor({1})).shape(), Dims({1, 2}));
}

TEST(Embedding, with_max_norm_scales_the_rows_that_it_looks_up) {
  nn::Embedding table(2, 2, {.max_norm = 1, .dtype = f64});
  copy_(detach(table.weight), tensor({{3.0, 4.0}, {3.0, 4.0}}, {f64}));
  table(tensor({0}));
  const Values rows = numbers_of(table.weight);
  EXPECT_NEAR(rows[0], 0.6, 1e-6);
  EXPECT_NEAR(rows[1], 0.8, 1e-6);
  EXPECT_EQ(rows[2], 3);
}

TEST(FractionalMaxPool, draws_other_windows_in_each_call) {
  manual_seed(8);
  const Tensor x = reshape(arange(0, 400, 1, f64), {1, 1, 20, 20});
  const nn::FractionalMaxPool2d pool(2, {.output_ratio = {0.7}});
  const Tensor first = pool(x);
  EXPECT_EQ(first.shape(), Dims({1, 1, 14, 14}));
  bool differs = false;
  for (int i = 0; i < 5; ++i) differs |= !equal(first, pool(x));
  EXPECT_TRUE(differs);
  const auto [values, indices] = pool.forward_with_indices(x);
  EXPECT_TRUE(equal(values, cast(indices, f64)));
}

TEST(Losses, hold_their_weights_as_buffers) {
  nn::CrossEntropyLoss loss({.weight = ones({3})});
  EXPECT_EQ(names_of(loss.named_buffers()), std::vector<std::string>({"weight"}));
  EXPECT_TRUE(loss.parameters().empty());
  loss.to(f64);
  EXPECT_EQ(loss(zeros({2, 3}, f64), tensor({0, 1})).dtype(), f64);
  EXPECT_TRUE(nn::MSELoss().state_dict().size() == 0);
}

// A network of many kinds of layers gives the same on both devices, forward and backward.
TEST(Layers, run_where_they_are) {
  manual_seed(9);
  nn::Sequential net(nn::Conv2d(2, 4, 3, {.padding = 1, .padding_mode = "reflect", .dtype = f64}),
                     nn::BatchNorm2d(4, {.dtype = f64}), nn::GELU(), nn::MaxPool2d(2),
                     nn::ConvTranspose2d(4, 2, 2, {.stride = 2, .dtype = f64}),
                     nn::GroupNorm(2, 2, {.dtype = f64}), nn::AdaptiveAvgPool2d({2, std::nullopt}),
                     nn::ReplicationPad2d(1), nn::Upsample({.scale_factor = {2}}),
                     nn::PixelUnshuffle(2), nn::PReLU({.dtype = f64}), nn::Flatten(),
                     nn::LayerNorm(8 * 4 * 8, {.dtype = f64}),
                     nn::Linear(8 * 4 * 8, 3, {.dtype = f64}));
  const Tensor x = randn({2, 2, 8, 6}, f64);
  nn::Sequential there = nn::clone(net);
  there.to(device("reference:0"));
  const nn::CrossEntropyLoss loss;
  const Tensor labels = tensor({2, 0});
  const Tensor here_loss = loss(net(x), labels);
  const Tensor there_loss =
      loss(there(to(x, device("reference:0"))), to(labels, device("reference:0")));
  EXPECT_EQ(there_loss.device(), device("reference:0"));
  EXPECT_NEAR(item<double>(here_loss), item<double>(there_loss), 1e-9);
  const auto gradients = autograd::grad({here_loss}, net.parameters());
  const auto others = autograd::grad({there_loss}, there.parameters());
  for (std::size_t i = 0; i < gradients.size(); ++i)
    EXPECT_TRUE(allclose(gradients[i], cpu(others[i]), 1e-7, 1e-9)) << i;
}

}  // namespace
}  // namespace bp::test
