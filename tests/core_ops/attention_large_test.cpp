// needs: cpu
// Attention of sizes that are worth other products than small ones (on a processor with AMX, attention_split.cpp's; nothing
// here may show which), against the same in float64: results and gradients.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include <backplane/tensors.hpp>

namespace bp {
namespace {

struct LargeCall {
  Tensor query, key, value, gradient;
  Tensor mask = {};
  bool is_causal = false;
  bool has_groups = false;
};

// The result, and the gradients of query, key and value.
std::vector<Tensor> results_of(const LargeCall& call, Dtype dtype) {
  const auto leaf = [&](const Tensor& a) { return set_requires_grad(to(detach(a), dtype)); };
  const Tensor query = leaf(call.query), key = leaf(call.key), value = leaf(call.value);
  const bool is_added = call.mask.defined() && call.mask.dtype() != boolean;
  const Tensor result =
      scaled_dot_product_attention(query, key, value, is_added ? to(call.mask, dtype) : call.mask,
                                   0, call.is_causal, {}, call.has_groups);
  backward(result, to(call.gradient, dtype));
  return {detach(result), grad(query), grad(key), grad(value)};
}

double root_mean_square(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number * number;
  return std::sqrt(sum / static_cast<double>(numbers.size()));
}

// What remains of f32 after sums of a thousand numbers, there and back. With two parts of three a product would lose 1e-5.
constexpr double room_of_f32 = 2e-6;

void expect_as_in_f64(const LargeCall& call, const char* what, double room = room_of_f32) {
  const std::vector<Tensor> actual = results_of(call, call.query.dtype());
  const std::vector<Tensor> expected = results_of(call, f64);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const std::vector<double> numbers = to_vector<double>(to(actual[i], f64));
    const std::vector<double> right = to_vector<double>(expected[i]);
    ASSERT_EQ(numbers.size(), right.size());
    std::vector<double> errors;
    for (std::size_t at = 0; at < right.size(); ++at) errors.push_back(numbers[at] - right[at]);
    const double size = root_mean_square(right);
    EXPECT_LE(root_mean_square(errors), room * size) << what << ", tensor " << i;
    double worst = 0;
    for (const double error : errors) worst = std::max(worst, std::abs(error));
    EXPECT_LE(worst, 100 * room * size) << what << ", tensor " << i;
  }
}

// [1, heads, length, size], of which queries and keys may have different numbers.
struct LargeSizes {
  std::int64_t heads, queries, keys, size, value_size;
};

LargeCall call_of(const LargeSizes& n, Dtype dtype = f32) {
  manual_seed(5);
  return {to(randn({1, n.heads, n.queries, n.size}), dtype),
          to(randn({1, n.heads, n.keys, n.size}), dtype),
          to(randn({1, n.heads, n.keys, n.value_size}), dtype),
          to(randn({1, n.heads, n.queries, n.value_size}), dtype)};
}

TEST(LargeAttention, is_as_in_float64) {
  // Whole blocks and tiles, and parts of each.
  for (const LargeSizes& n : {LargeSizes{2, 512, 512, 64, 64},
                              {1, 257, 520, 33, 70},
                              {1, 700, 301, 96, 32},
                              {1, 1000, 260, 40, 129}}) {
    LargeCall call = call_of(n);
    for (const bool is_causal : {false, true}) {
      call.is_causal = is_causal;
      expect_as_in_f64(call, is_causal ? "causal" : "plain");
    }
  }
}

TEST(LargeAttention, of_sixteen_bits_loses_what_these_lose) {
  expect_as_in_f64(call_of({1, 390, 400, 64, 64}, bf16), "bf16", 1e-2);
  expect_as_in_f64(call_of({1, 390, 400, 64, 64}, f16), "f16", 1e-3);
}

TEST(LargeAttention, takes_heads_that_lie_between_others) {
  LargeCall call = call_of({2, 400, 390, 48, 48});
  for (Tensor* each : {&call.query, &call.key, &call.value})
    *each = transpose(contiguous(transpose(*each, 1, 2)), 1, 2);
  expect_as_in_f64(call, "heads inside");
}

TEST(LargeAttention, adds_up_what_heads_with_the_same_keys_give) {
  LargeCall call = call_of({4, 400, 390, 40, 40});
  call.key = narrow(call.key, 1, 0, 2);
  call.value = narrow(call.value, 1, 0, 2);
  call.has_groups = true;
  expect_as_in_f64(call, "groups");
}

TEST(LargeAttention, takes_masks) {
  LargeCall call = call_of({2, 400, 390, 40, 40});
  call.mask = randn({1, 1, 400, 390});
  expect_as_in_f64(call, "added");
  call.mask = call.mask > 0;
  expect_as_in_f64(call, "chosen");
}

TEST(LargeAttention, gives_zeros_to_a_query_that_sees_no_key) {
  LargeCall call = call_of({1, 400, 390, 40, 40});
  call.mask = ge(expand(unsqueeze(arange(0, 400), 1), {400, 390}), 70);
  expect_as_in_f64(call, "70 queries see nothing");
  const std::vector<Tensor> results = results_of(call, f32);
  for (const Tensor& each : {results[0], results[1]})
    EXPECT_EQ(item<float>(max(abs(narrow(each, 2, 0, 70)))), 0);
}

// Factors times so much, both or one of a product. Within 2^62 numbers may go their usual way, and beyond it they must go another.
TEST(LargeAttention, of_numbers_of_any_size_is_as_in_float64) {
  for (const double by : {1e-30, 1e-12, 1e12, 1e18, 1e19, 1e25, 1e30}) {
    LargeCall call = call_of({1, 400, 390, 40, 40});
    call.query = call.query * by;
    call.key = call.key * (1 / by);
    LargeCall values = call_of({1, 400, 390, 40, 40});
    values.value = values.value * by;
    values.gradient = values.gradient * (1 / by);
    const std::string what = "times " + std::to_string(by);
    expect_as_in_f64(call, ("queries " + what).c_str());
    expect_as_in_f64(values, ("values " + what).c_str());
    LargeCall gradients = call_of({1, 400, 390, 40, 40});
    gradients.gradient = gradients.gradient * by;
    expect_as_in_f64(gradients, ("gradients " + what).c_str());
  }
}

TEST(LargeAttention, keeps_what_is_no_number_in_its_head) {
  for (const float special :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const LargeCall good = call_of({2, 400, 390, 40, 40});
    for (Tensor LargeCall::*place : {&LargeCall::query, &LargeCall::key, &LargeCall::value}) {
      LargeCall call = good;
      Tensor& numbers = call.*place;
      const Tensor places = reshape(arange(0, numbers.numel()), numbers.shape());
      const std::int64_t in_last_head = numbers.numel() - 1003;
      numbers = where(eq(places, in_last_head), special, numbers);
      const std::vector<Tensor> before = results_of(good, f32), after = results_of(call, f32);
      for (std::size_t i = 0; i < before.size(); ++i) {
        const auto head = [&](const Tensor& of, std::int64_t h) {
          return to_vector<float>(narrow(of, 1, h, 1));
        };
        EXPECT_EQ(head(before[i], 0), head(after[i], 0)) << special << ", tensor " << i;
      }
      const std::vector<float> by_query = to_vector<float>(after[1]);
      EXPECT_TRUE(std::any_of(by_query.begin(), by_query.end(), [](float number) {
        return std::isnan(number);
      })) << special;
    }
  }
}

TEST(LargeAttention, has_the_same_bits_for_any_number_of_threads) {
  const LargeCall call = call_of({3, 400, 390, 64, 64});
  const std::vector<Tensor> all = results_of(call, f32);
  const std::uint32_t threads = num_threads();
  set_num_threads(1);
  const std::vector<Tensor> one = results_of(call, f32);
  set_num_threads(threads);
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(to_vector<float>(all[i]), to_vector<float>(one[i])) << "tensor " << i;
}

}  // namespace
}  // namespace bp
