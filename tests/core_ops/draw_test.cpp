// needs: cpu reference
// Draws by probabilities: what they are by definition, how often each comes, and the same on every device.
#include <cmath>
#include <gtest/gtest.h>

#include <backplane/tensors.hpp>

#include "core_ops/rows.hpp"

namespace bp {
namespace {

using Counts = std::vector<std::int64_t>;
using Reals = std::vector<double>;

// Five standard deviations of how often something of this probability comes: with a fixed seed a test
// either passes or does not.
double room(double probability, double count) {
  return 5 * std::sqrt(probability * (1 - probability) / count);
}

TEST(Draw, bernoulli_is_a_uniform_number_below_the_probability) {
  const Tensor probabilities = reshape(arange(0, 1, 0.001, f64), {10, 100});
  manual_seed(11);
  const Reals uniforms = to_vector<double>(rand({10, 100}, f64));
  manual_seed(11);
  const Reals drawn = to_vector<double>(bernoulli(probabilities));
  for (std::size_t i = 0; i < drawn.size(); ++i)
    EXPECT_EQ(drawn[i], uniforms[i] < static_cast<double>(i) * 0.001 ? 1 : 0) << i;
}

TEST(Draw, bernoulli_comes_as_often_as_it_should) {
  manual_seed(12);
  const std::int64_t count = 100000;
  for (double p : {0.0, 0.001, 0.3, 0.999, 1.0}) {
    const Tensor by_number = bernoulli(zeros({count}, f16), p);
    EXPECT_EQ(by_number.dtype(), f16);
    EXPECT_NEAR(item<double>(mean(cast(by_number, f64))), p, room(p, count)) << p;
    EXPECT_NEAR(item<double>(mean(bernoulli(full({count}, p, f64)))), p, room(p, count)) << p;
  }
}

TEST(Draw, multinomial_with_replacement_finds_the_number_among_the_sums) {
  const Reals weights = {0, 3, 0, 0, 1, 2.5, 0, 0.5, 0};
  manual_seed(13);
  const Reals uniforms = to_vector<double>(rand({500}, f64));
  manual_seed(13);
  const Counts drawn = to_vector<std::int64_t>(multinomial(tensor(weights), 500, true));
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    std::int64_t expected = 0;
    double sum = weights[0];
    while (sum <= uniforms[i] * 7) sum += weights[static_cast<std::size_t>(++expected)];
    EXPECT_EQ(drawn[i], expected) << i;
  }
}

TEST(Draw, multinomial_with_replacement_comes_as_often_as_it_should) {
  manual_seed(14);
  const std::int64_t count = 50000;
  const Tensor weights = tensor({{1.0f, 2.0f, 0.0f, 5.0f}, {4.0f, 0.0f, 3.0f, 1.0f}});
  const Reals expected = {0.125, 0.25, 0, 0.625, 0.5, 0, 0.375, 0.125};
  const Tensor drawn = multinomial(weights, count, true);
  EXPECT_EQ(drawn.dtype(), i64);
  const Counts counts = to_vector<std::int64_t>(sum(one_hot(drawn, 4), 1));
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(static_cast<double>(counts[i]) / count, expected[i], room(expected[i], count)) << i;
}

TEST(Draw, multinomial_without_replacement_takes_pairs_as_often_as_it_should) {
  manual_seed(15);
  const std::int64_t count = 50000;
  const Reals weights = {1, 2, 0, 5};
  const Counts drawn = to_vector<std::int64_t>(multinomial(expand(tensor(weights), {count, 4}), 2));
  Reals counts(16, 0);
  for (std::size_t i = 0; i < drawn.size(); i += 2)
    ++counts[static_cast<std::size_t>(drawn[i] * 4 + drawn[i + 1])];
  for (std::size_t first = 0; first < 4; ++first)
    for (std::size_t second = 0; second < 4; ++second) {
      const double expected =
          first == second ? 0 : weights[first] / 8 * weights[second] / (8 - weights[first]);
      EXPECT_NEAR(counts[first * 4 + second] / count, expected, room(expected, count))
          << first << " then " << second;
    }
}

TEST(Draw, multinomial_without_replacement_takes_what_has_no_probability_last) {
  manual_seed(16);
  const Counts drawn =
      to_vector<std::int64_t>(multinomial(tensor(Reals{0, 3, 0, 1e-300, 1e300}), 5));
  EXPECT_EQ(drawn[0], 4);
  EXPECT_EQ(drawn[1], 1);
  EXPECT_EQ(drawn[2], 3);
  EXPECT_EQ(drawn[3] + drawn[4], 2);
}

TEST(Draw, normal_scales_and_shifts_what_randn_gives) {
  const Tensor mean = tensor({{-1.0}, {10.0}}, {f64}), std = tensor(Reals{0.5, 1, 2});
  manual_seed(17);
  const Reals standard = to_vector<double>(randn({2, 3}, f64));
  manual_seed(17);
  const Reals drawn = to_vector<double>(normal(mean, std));
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_NEAR(drawn[i], standard[i] * (0.5 * (1 << i % 3)) + (i < 3 ? -1 : 10), 1e-12);
  manual_seed(17);
  EXPECT_EQ(to_vector<double>(normal(0.0, 1.0, {2, 3}, f64)), standard);
  EXPECT_EQ(to_string(normal(mean, 2).shape()), "[2, 1]");
  EXPECT_EQ(to_string(normal(0.5, std).shape()), "[3]");
}

TEST(Draw, normal_has_its_moments) {
  manual_seed(18);
  const Tensor drawn = normal(full({100000}, 3, f64), 2.0);
  EXPECT_NEAR(item<double>(mean(drawn)), 3, 5 * 2 / std::sqrt(100000));
  EXPECT_NEAR(item<double>(mean((drawn - 3.0) * (drawn - 3.0))), 4, 5 * 4 * std::sqrt(2 / 1e5));
}

TEST(Draw, no_gradient_goes_through) {
  const Tensor a = full({2, 3}, 0.5, f64);
  set_requires_grad(a);
  EXPECT_FALSE(requires_grad(bernoulli(a)));
  EXPECT_FALSE(requires_grad(multinomial(a, 2)));
  EXPECT_FALSE(requires_grad(normal(a, a)));
  EXPECT_FALSE(requires_grad(normal(a, 1.0)));
}

TEST(Draw, one_seed_gives_the_same_on_every_device) {
  const Device other = device("reference");
  const Tensor weights = reshape(arange(1, 2001, 1, f32), {20, 100}) / 2500;
  const auto draw_all = [&](Device on) {
    const Tensor there = to(weights, on);
    manual_seed(19);
    std::vector<Tensor> drawn{bernoulli(there), bernoulli(there, 0.3), multinomial(there, 60),
                              multinomial(there, 300, true)};
    for (Tensor& each : drawn) each = to(cpu(each), f64);
    return drawn;
  };
  const std::vector<Tensor> here = draw_all(host_device()), there = draw_all(other);
  for (std::size_t i = 0; i < here.size(); ++i)
    EXPECT_EQ(to_vector<double>(here[i]), to_vector<double>(there[i])) << i;
  manual_seed(20);
  const Reals normals = to_vector<double>(to(normal(weights, 2.0), f64));
  manual_seed(20);
  const Reals others = to_vector<double>(to(cpu(normal(to(weights, other), 2.0)), f64));
  for (std::size_t i = 0; i < normals.size(); ++i) EXPECT_NEAR(normals[i], others[i], 1e-5) << i;
}

std::string problem_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.error_class(), ErrorClass::bad_argument) << error.what();
    return error.what();
  }
  return "no error";
}

TEST(Draw, what_is_no_probability_is_an_error) {
  const Tensor a = ones({2, 3});
  EXPECT_EQ(problem_of([&] { bernoulli(a, 1.5); }),
            "bernoulli: p is 1.5; pass a probability from 0 to 1");
  EXPECT_EQ(problem_of([&] { bernoulli(a, NAN); }),
            "bernoulli: p is nan; pass a probability from 0 to 1");
  for (float wrong : {-0.001f, 1.001f, 2.0f, NAN, INFINITY})
    for (const char* on : {"cpu", "reference"})
      EXPECT_EQ(problem_of([&] {
                  bernoulli(to(tensor({0.5f, wrong, 1.0f}), device(on)));
                }),
                "bernoulli: a probability is below 0, above 1 or NaN; pass numbers from 0 to 1");
  EXPECT_EQ(bernoulli(empty({0, 3})).shape(), (IntList{0, 3}));
  EXPECT_EQ(problem_of([&] { multinomial(a, 4); }),
            "multinomial: 4 samples of 3 without replacement; draw fewer, or with replacement");
  EXPECT_EQ(problem_of([&] { multinomial(a, 0); }),
            "multinomial: 0 samples; pass a positive number");
  EXPECT_EQ(problem_of([&] {
              multinomial(ones({2, 2, 2}), 1);
            }),
            "multinomial: the probabilities have shape [2, 2, 2]; pass a vector or a matrix");
  for (float wrong : {-1.0f, NAN, INFINITY})
    EXPECT_EQ(
        problem_of([&] {
          multinomial(tensor({1.0f, wrong}), 1);
        }),
        "multinomial: a probability is negative, infinite or NaN; pass finite ones from 0 on");
  EXPECT_EQ(problem_of([&] {
              multinomial(tensor({{1.0f, 0.0f}, {0.0f, 0.0f}}), 1, true);
            }),
            "multinomial: the probabilities of a row are all 0; make one of them positive");
  EXPECT_EQ(problem_of([&] { normal(0.0, -1.0, {2}); }), "normal: std is -1; pass 0 or more");
}

}  // namespace
}  // namespace bp
