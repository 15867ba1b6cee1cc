// needs: cpu
// Products of vectors and losses of pairs: values by hand, and what they refuse.
#include "core_ops/peer_values.hpp"

namespace bp {
namespace {

using test::error_of;
using test::expect_values;

Tensor of(std::initializer_list<double> values) {
  return cast(tensor(values), f64);
}

TEST(VectorProduct, values_are_those_of_the_definition) {
  const Tensor a = of({1, 2, 3}), b = of({4, -5, 6});
  expect_values(dot(a, b), {12});
  EXPECT_EQ(to_string(outer(a, of({1, 2})).shape()), "[3, 2]");
  const Tensor matrix = reshape(of({1, 2, 3, 4, 5, 6}), {2, 3});
  expect_values(mv(matrix, a), {14, 32});
  expect_values(addmv(of({1, 1}), matrix, a, 2, 1), {16, 34});
  EXPECT_EQ(to_string(addmv(of({1}), matrix, a).shape()), "[2]");
  expect_values(dot(of({}), of({})), {0});
}

TEST(VectorProduct, errors_name_both_shapes) {
  const Tensor three = of({1, 2, 3}), one = of({1});
  EXPECT_EQ(error_of([&] { dot(one, three); }),
            "dot: input of shape [1] and tensor of shape [3] do not fit (1 against 3); make them "
            "equal");
  EXPECT_EQ(error_of([&] { dot(three, cast(three, f32)); }),
            "dot: input is float64 and tensor is float32; cast one of them");
  EXPECT_EQ(error_of([&] { mv(three, three); }),
            "mv: input has shape [3] and vec has shape [3]; they need 2 and 1 dimensions: matmul "
            "takes others");
  EXPECT_EQ(
      error_of([&] { outer(three, unsqueeze(three, 0)); }),
      "outer: input has shape [3] and vec2 has shape [1, 3]; both need one dimension: flatten "
      "them");
}

TEST(PairLoss, soft_margins_do_not_overflow) {
  expect_values(soft_margin_loss(of({-1000, 1000}), of({1, 1}), "none"), {1000, 0});
}

TEST(PairLoss, a_margin_takes_one_score_without_dimensions) {
  const Tensor loss = multi_margin_loss(tensor(0.5), tensor(0), 1, 1, {}, "none");
  EXPECT_EQ(to_string(loss.shape()), "[]");
  expect_values(cast(loss, f64), {0});
}

TEST(PairLoss, entropy_is_at_most_100_per_element) {
  expect_values(binary_cross_entropy(of({0, 1}), of({1, 0}), {}, "none"), {100, 100});
}

TEST(PairLoss, entropy_of_certainty_has_no_nan_in_its_gradient) {
  const Tensor sure = of({0, 1});
  set_requires_grad(sure);
  const Tensor loss = binary_cross_entropy(sure, of({0, 1}), {}, "sum");
  for (double slope : to_vector<double>(autograd::grad({loss}, {sure})[0]))
    EXPECT_FALSE(std::isnan(slope));
}

TEST(PairLoss, errors_name_what_was_given) {
  EXPECT_EQ(error_of([] { huber_loss(of({1}), of({2}), "mean", 0); }),
            "huber_loss: delta is 0, and must be above 0; l1_loss has no quadratic part");
  EXPECT_EQ(error_of([] {
              binary_cross_entropy(of({1, 1}), of({1}));
            }),
            "binary_cross_entropy: input has shape [2] and target [1]; make them equal");
}

TEST(CosineSimilarity, nothing_has_no_direction) {
  expect_values(cosine_similarity(of({0, 0}), of({3, 4}), 0), {0});
  expect_values(cosine_similarity(of({3, 4}), of({4, 3}), 0), {0.96});
}

}  // namespace
}  // namespace bp
