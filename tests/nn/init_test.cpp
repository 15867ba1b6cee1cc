// needs: cpu
// How parameters begin: bounds and moments of what is drawn, and the rest element by element.
#include <cmath>
#include <numeric>

#include <backplane/nn/init.hpp>

#include "nn/networks.hpp"

namespace bp::test {
namespace {

namespace init = nn::init;

struct Moments {
  double mean, deviation, least, most;
};
Moments moments_of(const Tensor& a) {
  const Values all = numbers_of(a);
  const auto count = static_cast<double>(all.size());
  const double mean = std::accumulate(all.begin(), all.end(), 0.0) / count;
  double squares = 0;
  for (double x : all) squares += (x - mean) * (x - mean);
  return {mean, std::sqrt(squares / count), *std::min_element(all.begin(), all.end()),
          *std::max_element(all.begin(), all.end())};
}

// Of 200 by 100 numbers, within 4 deviations of what 20000 draws give.
void expect_moments(const Moments& found, double mean, double deviation) {
  EXPECT_NEAR(found.mean, mean, 4 * deviation / std::sqrt(20000));
  EXPECT_NEAR(found.deviation, deviation, 4 * deviation / std::sqrt(20000));
}
void expect_uniform(const Tensor& a, double low, double high) {
  const Moments found = moments_of(a);
  expect_moments(found, (low + high) / 2, (high - low) / std::sqrt(12));
  EXPECT_TRUE(found.least >= low && found.most <= high);
  EXPECT_NEAR(found.least, low, (high - low) / 500);
  EXPECT_NEAR(found.most, high, (high - low) / 500);
}
void expect_normal(const Tensor& a, double mean, double deviation) {
  const Moments found = moments_of(a);
  expect_moments(found, mean, deviation);
  EXPECT_GT(found.most, mean + 3 * deviation);
  EXPECT_LT(found.least, mean - 3 * deviation);
}

struct Init : testing::Test {
  Init() { manual_seed(11); }
  nn::Parameter weight{empty({200, 100})};
};

TEST_F(Init, writes_leaves_in_place_outside_of_records) {
  const Tensor memory = detach(weight);
  EXPECT_TRUE(init::uniform_(weight).is_same(weight));
  EXPECT_TRUE(weight.shares_storage(memory) && is_leaf(weight) && requires_grad(weight));
  for (const Tensor& each :
       {init::normal_(weight), init::ones_(weight), init::eye_(weight), init::orthogonal_(weight),
        init::sparse_(weight, 0.5), init::trunc_normal_(weight), init::xavier_normal_(weight)})
    EXPECT_TRUE(is_leaf(each) && each.shares_storage(memory));
}

TEST_F(Init, draws_uniform_and_normal_numbers) {
  expect_uniform(init::uniform_(weight), 0, 1);
  expect_uniform(init::uniform_(weight, -2, 5), -2, 5);
  expect_normal(init::normal_(weight), 0, 1);
  expect_normal(init::normal_(weight, 3, 0.5), 3, 0.5);
}

TEST_F(Init, draws_from_the_given_generator) {
  Generator one(device("cpu")), two(device("cpu"));
  one.manual_seed(5);
  two.manual_seed(5);
  const Values first = numbers_of(init::xavier_uniform_(weight, 1, &one));
  EXPECT_EQ(numbers_of(init::xavier_uniform_(weight, 1, &two)), first);
  EXPECT_NE(numbers_of(init::xavier_uniform_(weight, 1, &two)), first);
}

TEST_F(Init, truncates_normal_numbers) {
  const Moments plain = moments_of(init::trunc_normal_(weight));
  EXPECT_TRUE(plain.least >= -2 && plain.most <= 2);
  // The deviation of a normal distribution cut at 2 deviations.
  const double density = std::exp(-2.0) / std::sqrt(2 * M_PI), inside = std::erf(std::sqrt(2.0));
  expect_moments(plain, 0, std::sqrt(1 - 4 * density / inside));
  const Moments aside = moments_of(init::trunc_normal_(weight, 1, 2, 1, 4));
  EXPECT_TRUE(aside.least >= 1 && aside.most <= 4);
  EXPECT_GT(aside.mean, 2);
  EXPECT_THAT(sentence_of([&] { init::trunc_normal_(weight, 0, 1, 2, -2); }),
              HasSubstr("from 2 to -2"));
  const double inf = std::numeric_limits<double>::infinity();
  for (const auto& [center, deviation] : {std::pair(0.0, 0.0), {0.0, -1.0}, {0.0, inf}, {inf, 1.0}})
    EXPECT_THAT(sentence_of([&] { init::trunc_normal_(weight, center, deviation); }),
                HasSubstr("pass numbers that are finite"));
}

TEST_F(Init, refuses_dtypes_that_hold_no_such_numbers) {
  for (const Dtype dtype : {boolean, u8, i64, Dtype::complex64}) {
    const Tensor filled = zeros({3, 4}, dtype);
    const std::function<void()> fills[] = {
        [&] { init::uniform_(filled); },        [&] { init::normal_(filled); },
        [&] { init::trunc_normal_(filled); },   [&] { init::xavier_uniform_(filled); },
        [&] { init::xavier_normal_(filled); },  [&] { init::kaiming_uniform_(filled); },
        [&] { init::kaiming_normal_(filled); }, [&] { init::orthogonal_(filled); },
        [&] { init::sparse_(filled, 0.5); },
    };
    for (const auto& fill : fills)
      EXPECT_THAT(sentence_of(fill), HasSubstr(std::string(name(dtype))));
  }
}

TEST_F(Init, leaves_tensors_without_elements) {
  const Tensor none = empty({std::int64_t{1} << 40, 0, std::int64_t{1} << 40}, f32);
  EXPECT_EQ(init::dirac_(none).numel(), 0);
  EXPECT_EQ(init::orthogonal_(none).numel(), 0);
  EXPECT_EQ(init::kaiming_uniform_(none).numel(), 0);
}

TEST_F(Init, truncates_far_from_the_mean) {
  manual_seed(3);
  for (const Dtype dtype : {f32, f64, f16})
    for (const double sign : {1.0, -1.0}) {
      const Tensor drawn = zeros({4000}, dtype);
      const double near = 5 * sign, far = 8 * sign;
      nn::init::trunc_normal_(drawn, 0, 1, std::min(near, far), std::max(near, far));
      const Tensor distance = copy(abs(to(drawn, f64) - near));
      EXPECT_LE(item<double>(max(abs(to(drawn, f64)))), 8);
      EXPECT_GE(item<double>(min(abs(to(drawn, f64)))), 5);
      nn::init::trunc_normal_(drawn, 0, 1, std::min(50 * sign, 60 * sign),
                              std::max(50 * sign, 60 * sign));
      EXPECT_EQ(item<double>(max(abs(to(drawn, f64) - 50 * sign))), 0) << name(dtype);
      // The mean excess of a normal beyond 5 deviations is 0.1865.
      EXPECT_NEAR(item<double>(mean(distance)), 0.1865, 0.02) << name(dtype);
    }
}

TEST_F(Init, fills_with_constants_and_identities) {
  for (double x : numbers_of(init::constant_(weight, 0.25))) EXPECT_EQ(x, 0.25);
  for (double x : numbers_of(init::zeros_(weight))) EXPECT_EQ(x, 0);
  for (double x : numbers_of(init::ones_(weight))) EXPECT_EQ(x, 1);
  EXPECT_EQ(numbers_of(init::eye_(empty({2, 3}))), (Values{1, 0, 0, 0, 1, 0}));
  EXPECT_THAT(sentence_of([] { init::eye_(ones({2})); }), HasSubstr("of 2 dimensions"));
}

TEST_F(Init, makes_kernels_that_hand_on_their_channels) {
  const Tensor kernel = init::dirac_(empty({4, 2, 3, 3}), 2);
  const Tensor x = rand({1, 4, 5, 5});
  EXPECT_EQ(numbers_of(conv2d(x, kernel, {}, {1}, {1}, {1}, 2)), numbers_of(x));
  const Tensor wide = init::dirac_(empty({2, 3, 4}));
  const Values values = numbers_of(wide);
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0.0), 2);
  EXPECT_TRUE(values[2] == 1 && values[12 + 4 + 2] == 1);
  EXPECT_THAT(sentence_of([] {
                init::dirac_(ones({3, 2, 1}), 2);
              }),
              HasSubstr("3 output channels are not divisible into 2 groups"));
  EXPECT_THAT(sentence_of([] { init::dirac_(ones({3, 2})); }), HasSubstr("3, 4 or 5 dimensions"));
}

TEST_F(Init, knows_the_gains) {
  EXPECT_DOUBLE_EQ(init::calculate_gain("linear"), 1);
  EXPECT_DOUBLE_EQ(init::calculate_gain("conv_transpose3d"), 1);
  EXPECT_DOUBLE_EQ(init::calculate_gain("tanh"), 5.0 / 3);
  EXPECT_DOUBLE_EQ(init::calculate_gain("relu"), std::sqrt(2));
  EXPECT_DOUBLE_EQ(init::calculate_gain("selu"), 0.75);
  EXPECT_DOUBLE_EQ(init::calculate_gain("leaky_relu"), std::sqrt(2 / 1.0001));
  EXPECT_DOUBLE_EQ(init::calculate_gain("leaky_relu", 2), std::sqrt(0.4));
  EXPECT_THAT(sentence_of([] { init::calculate_gain("gelu"); }),
              HasSubstr("no nonlinearity 'gelu'"));
}

TEST_F(Init, follows_xavier_and_kaiming) {
  const double both = std::sqrt(6.0 / 300);
  expect_uniform(init::xavier_uniform_(weight, 2), -2 * both, 2 * both);
  expect_normal(init::xavier_normal_(weight), 0, std::sqrt(2.0 / 300));
  const double in = std::sqrt(6.0 / 100), out = std::sqrt(3.0 / 200);
  expect_uniform(init::kaiming_uniform_(weight), -in, in);
  expect_uniform(init::kaiming_uniform_(weight, 1, "fan_out"), -out, out);
  expect_normal(init::kaiming_normal_(weight, 0, "fan_out", "relu"), 0, std::sqrt(2.0 / 200));
  // Of a kernel, fans are times its size.
  const double kernel = std::sqrt(6.0 / (10 * 4));
  expect_uniform(init::kaiming_uniform_(empty({500, 10, 2, 2})), -kernel, kernel);
  EXPECT_THAT(sentence_of([&] { init::kaiming_normal_(weight, 0, "in"); }), HasSubstr("'in'"));
  EXPECT_THAT(sentence_of([] { init::xavier_normal_(ones({3})); }),
              HasSubstr("xavier_normal_: the tensor has shape [3]"));
}

TEST_F(Init, makes_orthonormal_rows_or_columns) {
  for (const Dims& shape : {Dims({4, 9}), Dims({9, 4}), Dims({5, 5}), Dims({3, 2, 2, 2})}) {
    const Tensor a = flatten(init::orthogonal_(empty(shape, f64), 3), 1);
    const bool is_wide = a.size(0) < a.size(1);
    const Tensor gram = is_wide ? matmul(a, transpose(a, 0, 1)) : matmul(transpose(a, 0, 1), a);
    EXPECT_TRUE(allclose(gram, eye(gram.size(0), gram.size(0), f64) * 9, 0, 1e-12));
  }
  EXPECT_EQ(init::orthogonal_(empty({0, 3})).numel(), 0);
  EXPECT_THAT(sentence_of([] { init::orthogonal_(ones({3})); }), HasSubstr("2 dimensions or more"));
}

TEST_F(Init, empties_the_same_number_in_each_column) {
  const Tensor drawn = init::sparse_(weight, 0.101, 2);
  const Values zeros_in = numbers_of(sum(cast(detach(drawn) == 0, f64), 0));
  for (double count : zeros_in) EXPECT_EQ(count, 21);
  const Moments found = moments_of(masked_select(detach(drawn), detach(drawn) != 0));
  EXPECT_NEAR(found.deviation, 2, 0.06);
  // Not the same ones in each.
  EXPECT_NE(numbers_of(select(drawn, 1, 0) == 0), numbers_of(select(drawn, 1, 1) == 0));
  EXPECT_THAT(sentence_of([&] { init::sparse_(weight, 1.5); }), HasSubstr("from 0 to 1"));
  EXPECT_THAT(sentence_of([] { init::sparse_(ones({3}), 0.5); }), HasSubstr("of 2 dimensions"));
}

}  // namespace
}  // namespace bp::test
