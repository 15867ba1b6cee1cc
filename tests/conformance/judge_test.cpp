// needs: cpu
// The judge: results that a good device may give pass, those of a bad one do not.
#include <atomic>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <thread>

#include <backplane/dispatcher/chain.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/samples/row_facts.hpp>
#include <backplane/tensor/float_formats.hpp>
#include <backplane/tensors.hpp>

#include "inputs/values.hpp"
#include "judge/calls.hpp"

namespace bp::conform {
namespace {

using Bytes = std::vector<unsigned char>;

template <class T> Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
std::vector<std::uint16_t> halves(const std::vector<float>& values) {
  std::vector<std::uint16_t> codes;
  for (const float value : values) codes.push_back(float_to_f16(value));
  return codes;
}

// A call written by hand.
class Asked {
 public:
  explicit Asked(const char* op, Dtype dtype = f32) {
    ensure_operators();
    problem_.op = find_operator(op);
    one_.op = op;
    one_.dtype = dtype;
    one_.values = "normal";
    one_.form = "call";
  }
  template <class T>
  Asked& tensor(Dtype dtype, std::vector<std::int64_t> shape, const std::vector<T>& values) {
    const Dims strides = contiguous_strides(shape);
    problem_.tensors.push_back(
        {dtype, shape, {strides.begin(), strides.end()}, 0, bytes_of(values)});
    Argument argument;
    argument.value.tag = BP_TENSOR;
    argument.tensors = {static_cast<int>(problem_.tensors.size()) - 1};
    problem_.arguments.push_back(argument);
    return *this;
  }
  Asked& floats(std::vector<std::int64_t> shape, const std::vector<float>& values) {
    return tensor(f32, std::move(shape), values);
  }
  Asked& whole(std::int64_t value) {
    Argument argument;
    argument.value = value_of(value);
    problem_.arguments.push_back(argument);
    return *this;
  }
  Expected expected(bool gradients = false) const {
    return expect(problem_, one_, numerics, gradients);
  }
  ExpectedTensor first() const { return expected().results.at(0); }
  const Case& one() const { return one_; }
  const Problem& problem() const { return problem_; }

  Numerics numerics;

 private:
  Problem problem_;
  Case one_;
};

// Between -2 and 2, all digits used.
std::vector<float> numbers(std::size_t count, unsigned seed = 1) {
  std::vector<float> values;
  std::uint32_t state = seed * 2654435761u + 12345u;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    values.push_back(static_cast<float>(state >> 8) * 0x1p-22f - 2);
  }
  return values;
}
float as_tf32(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits = (bits + 0x1000u) & ~0x1fffu;
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

using Dot =
    std::function<float(const float* a, const float* b, std::size_t step, std::size_t count)>;
Bytes product_of(const std::vector<float>& a, const std::vector<float>& b, std::size_t m,
                 std::size_t k, std::size_t n, const Dot& dot) {
  std::vector<float> out;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) out.push_back(dot(&a[i * k], &b[j], n, k));
  return bytes_of(out);
}
float serial(const float* a, const float* b, std::size_t step, std::size_t count) {
  float sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += a[i] * b[i * step];
  return sum;
}
float fused(const float* a, const float* b, std::size_t step, std::size_t count) {
  float sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum = std::fma(a[i], b[i * step], sum);
  return sum;
}
float pairwise(const float* a, const float* b, std::size_t step, std::size_t count) {
  if (count == 1) return a[0] * b[0];
  const std::size_t half = count / 2;
  return pairwise(a, b, step, half) + pairwise(a + half, b + half * step, step, count - half);
}
float in_tf32(const float* a, const float* b, std::size_t step, std::size_t count) {
  float sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += as_tf32(a[i]) * as_tf32(b[i * step]);
  return sum;
}

struct Sizes {
  std::size_t m, k, n;
};
class Products : public testing::TestWithParam<Sizes> {};

TEST_P(Products, in_tf32_are_caught_and_all_orders_of_float32_pass) {
  const auto [m, k, n] = GetParam();
  const std::vector<float> a = numbers(m * k, 1), b = numbers(k * n, 2);
  Asked asked("matmul");
  asked.floats({static_cast<std::int64_t>(m), static_cast<std::int64_t>(k)}, a);
  asked.floats({static_cast<std::int64_t>(k), static_cast<std::int64_t>(n)}, b);
  const ExpectedTensor expected = asked.first();
  for (const Dot& dot : {Dot(serial), Dot(fused), Dot(pairwise)}) {
    const Comparison fine = compare(product_of(a, b, m, k, n, dot), expected);
    EXPECT_TRUE(fine.ok) << fine.why;
    EXPECT_LT(std::abs(fine.bias), 0.5);
  }
  EXPECT_FALSE(compare(product_of(a, b, m, k, n, in_tf32), expected).ok);
  if (k > 1) {
    EXPECT_FALSE(compare(product_of(a, b, m, k, n,
                                    [](auto* x, auto* y, std::size_t step, std::size_t count) {
                                      return serial(x, y, step, count - 1);
                                    }),
                         expected)
                     .ok);
  }
  asked.numerics.tf32_matmul = true;
  const Comparison declared = compare(product_of(a, b, m, k, n, in_tf32), asked.first());
  EXPECT_TRUE(declared.ok) << declared.why;
}
INSTANTIATE_TEST_SUITE_P(sizes, Products,
                         testing::Values(Sizes{4, 1, 5}, Sizes{5, 3, 7}, Sizes{3, 8, 6},
                                         Sizes{8, 65, 9}, Sizes{6, 1025, 5}, Sizes{5, 4099, 5}));

TEST(Judge, a_dropped_tail_is_caught_among_small_integers_in_16_bits) {
  std::vector<float> a, b;
  for (int i = 0; i < 17 * 9; ++i) a.push_back(static_cast<float>(i % 7 - 3));
  for (int i = 0; i < 17 * 8; ++i) b.push_back(static_cast<float>(i % 5 - 2));
  Asked asked("matmul", f16);
  asked.tensor(f16, {9, 17}, halves(a)).tensor(f16, {17, 8}, halves(b));
  const ExpectedTensor expected = asked.first();
  const auto result = [&](std::size_t terms) {
    std::vector<float> out;
    for (std::size_t i = 0; i < 9; ++i)
      for (std::size_t j = 0; j < 8; ++j) out.push_back(serial(&a[i * 17], &b[j], 8, terms));
    return bytes_of(halves(out));
  };
  EXPECT_TRUE(compare(result(17), expected).ok) << compare(result(17), expected).why;
  EXPECT_FALSE(compare(result(16), expected).ok);
}

TEST(Judge, a_sum_of_16_bits_in_16_bits_is_caught_unless_it_is_declared) {
  std::vector<float> a = numbers(600);
  for (float& value : a) value = f16_to_float(float_to_f16(std::abs(value)));
  float narrow = 0, wide = 0;
  for (const float value : a) {
    narrow = f16_to_float(float_to_f16(narrow + value));
    wide += value;
  }
  Asked asked("sum", f16);
  asked.tensor(f16, {600}, halves(a));
  EXPECT_TRUE(compare(bytes_of(halves({wide})), asked.first()).ok);
  EXPECT_FALSE(compare(bytes_of(halves({narrow})), asked.first()).ok);
  asked.numerics.low_accumulation = true;
  EXPECT_TRUE(compare(bytes_of(halves({narrow})), asked.first()).ok);
}

TEST(Judge, a_variance_from_a_sum_of_squares_is_caught) {
  std::vector<float> a = numbers(100);
  for (float& value : a) value += 1e4f;
  float sum = 0, squares = 0;
  for (const float value : a) {
    sum += value;
    squares += value * value;
  }
  const float mean = sum / 100;
  float distances = 0;
  for (const float value : a) distances += (value - mean) * (value - mean);
  Asked asked("var");
  asked.floats({100}, a);
  const Comparison good = compare(bytes_of<float>({distances / 99}), asked.first());
  EXPECT_TRUE(good.ok) << good.why;
  EXPECT_FALSE(compare(bytes_of<float>({(squares - 100 * mean * mean) / 99}), asked.first()).ok);
}

TEST(Judge, softmax_that_overflows_or_is_somewhat_off_is_caught) {
  const std::vector<float> a = {100, 99, 3, -50, 98.5f, 0};
  std::vector<float> good, naive, off;
  float total = 0, naive_total = 0;
  for (const float value : a) {
    total += std::exp(value - 100);
    naive_total += std::exp(value);
  }
  for (const float value : a) {
    good.push_back(std::exp(value - 100) / total);
    naive.push_back(std::exp(value) / naive_total);
    off.push_back(good.back() * 1.0001f);
  }
  Asked asked("softmax");
  asked.floats({6}, a).whole(0);
  EXPECT_TRUE(compare(bytes_of(good), asked.first()).ok)
      << compare(bytes_of(good), asked.first()).why;
  EXPECT_FALSE(compare(bytes_of(naive), asked.first()).ok);
  EXPECT_FALSE(compare(bytes_of(off), asked.first()).ok);
}

TEST(Judge, elementwise_functions_are_held_to_their_ulps) {
  const std::vector<float> a = numbers(500);
  std::vector<float> good, off, silu;
  for (const float value : a) {
    good.push_back(std::exp(value));
    off.push_back(std::exp(value) * 1.0001f);
    silu.push_back(value / (1 + std::exp(-value)));
  }
  EXPECT_TRUE(compare(bytes_of(good), Asked("exp").floats({500}, a).first()).ok);
  EXPECT_FALSE(compare(bytes_of(off), Asked("exp").floats({500}, a).first()).ok);
  const Comparison fine = compare(bytes_of(silu), Asked("silu").floats({500}, a).first());
  EXPECT_TRUE(fine.ok) << fine.why;
  silu[77] *= 1.00001f;
  const Comparison wrong = compare(bytes_of(silu), Asked("silu").floats({500}, a).first());
  EXPECT_EQ(wrong.wrong, 1u);
  EXPECT_NE(wrong.why.find("element [77]"), std::string::npos) << wrong.why;
}

TEST(Judge, exact_rows_are_judged_by_the_bit) {
  const float infinity = HUGE_VALF;
  const ExpectedTensor negated = Asked("neg").floats({4}, {0.0f, -1.5f, infinity, NAN}).first();
  EXPECT_TRUE(compare(bytes_of<float>({-0.0f, 1.5f, -infinity, NAN}), negated).ok);
  EXPECT_FALSE(compare(bytes_of<float>({0.0f, 1.5f, -infinity, NAN}), negated).ok)
      << "the sign of zero is lost";
  EXPECT_FALSE(compare(bytes_of<float>({-0.0f, 1.5f, -infinity, 0}), negated).ok) << "NaN is lost";
  EXPECT_FALSE(compare(bytes_of<float>({-0.0f, 1.5000001f, -infinity, NAN}), negated).ok);
  const ExpectedTensor raised = Asked("relu").floats({3}, {NAN, -0.0f, 2}).first();
  EXPECT_TRUE(compare(bytes_of<float>({NAN, 0.0f, 2}), raised).ok);
  EXPECT_TRUE(compare(bytes_of<float>({NAN, -0.0f, 2}), raised).ok);
  EXPECT_FALSE(compare(bytes_of<float>({0.0f, 0.0f, 2}), raised).ok);
}

TEST(Judge, integers_keep_all_their_digits) {
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  Asked asked("add", i64);
  asked.tensor<std::int64_t>(i64, {2}, {large, -large}).tensor<std::int64_t>(i64, {2}, {0, 0});
  EXPECT_TRUE(compare(bytes_of<std::int64_t>({large, -large}), asked.first()).ok);
  EXPECT_FALSE(compare(bytes_of<std::int64_t>({large - 1, -large}), asked.first()).ok);
  const ExpectedTensor wrapped = Asked("mul", u8)
                                     .tensor<std::uint8_t>(u8, {1}, {200})
                                     .tensor<std::uint8_t>(u8, {1}, {3})
                                     .first();
  EXPECT_TRUE(compare(bytes_of<std::uint8_t>({88}), wrapped).ok);
}

TEST(Judge, denormals_may_vanish_only_where_that_is_declared) {
  const float small = 0x1p-140f;
  Asked asked("mul");
  asked.floats({2}, {small, small}).floats({2}, {1, 0x1p100f});
  const Bytes kept = bytes_of<float>({small, 0x1p-40f}), flushed = bytes_of<float>({0, 0});
  EXPECT_TRUE(compare(kept, asked.first()).ok);
  EXPECT_FALSE(compare(flushed, asked.first()).ok);
  asked.numerics.flushes_denormals = true;
  EXPECT_TRUE(compare(kept, asked.first()).ok);
  EXPECT_TRUE(compare(flushed, asked.first()).ok);
}

TEST(Judge, a_processors_bf16_products_may_flush_and_its_sums_may_not) {
  const std::uint16_t one = 0x3f80, small = 0x40;  // half of the smallest normal number
  Asked product("bmm", bf16), sum("add", bf16);
  product.tensor<std::uint16_t>(bf16, {1, 1, 1}, {small})
      .tensor<std::uint16_t>(bf16, {1, 1, 1}, {one});
  sum.tensor<std::uint16_t>(bf16, {1}, {small}).tensor<std::uint16_t>(bf16, {1}, {0});
  const Bytes kept = bytes_of<std::uint16_t>({small}), flushed = bytes_of<std::uint16_t>({0});
  EXPECT_FALSE(compare(flushed, product.first()).ok);
  product.numerics.flushes_bf16_products = sum.numerics.flushes_bf16_products = true;
  EXPECT_TRUE(compare(kept, product.first()).ok);
  EXPECT_TRUE(compare(flushed, product.first()).ok);
  EXPECT_FALSE(compare(flushed, sum.first()).ok);
}

TEST(Judge, an_index_may_be_that_of_flushed_numbers_where_that_is_declared) {
  Asked asked("argmax");
  asked.floats({2}, {0, 0x1p-140f});
  EXPECT_FALSE(compare(bytes_of<std::int64_t>({0}), asked.first()).ok);
  asked.numerics.flushes_denormals = true;
  EXPECT_TRUE(compare(bytes_of<std::int64_t>({0}), asked.first()).ok);
  EXPECT_TRUE(compare(bytes_of<std::int64_t>({1}), asked.first()).ok);
}

TEST(Judge, what_is_too_large_becomes_infinite) {
  const ExpectedTensor expected = Asked("exp").floats({2}, {89, 88.7f}).first();
  EXPECT_TRUE(compare(bytes_of<float>({HUGE_VALF, std::exp(88.7f)}), expected).ok);
  EXPECT_FALSE(compare(bytes_of<float>({1e38f, std::exp(88.7f)}), expected).ok);
  EXPECT_FALSE(compare(bytes_of<float>({HUGE_VALF, HUGE_VALF}), expected).ok);
}

// sqrt(a^2), whose square of 1e-200 is 0 in float64 and not in the reference.
TEST(Judge, a_product_may_fall_below_the_smallest_number_on_the_way) {
  ensure_operators();
  const ChainStep steps[] = {{find_operator("square"), {ChainInput::argument(0)}},
                             {find_operator("sqrt"), {ChainInput::step(0)}}};
  const Chain chain = join(steps);
  Asked asked(chain->name(), f64);
  asked.tensor<double>(f64, {3}, {1e-200, 3, 0});
  const Numerics numerics;
  Evaluation all{asked.problem(), asked.one(), numerics};
  all.kind = RuleKind::expression;
  all.ulps = 4;
  all.inputs = {laid_out(asked.problem().tensors[0])};
  ExpectedTensor out;
  out.dtype = f64;
  out.shape = {3};
  out.wide = all.inputs[0];
  bound_elementwise(all, out);
  EXPECT_TRUE(compare(bytes_of<double>({0, 3, 0}), out).ok);
  EXPECT_FALSE(compare(bytes_of<double>({1e-150, 3, 0}), out).ok);
  EXPECT_FALSE(compare(bytes_of<double>({0, 0, 0}), out).ok);
}

TEST(Judge, a_bad_call_is_expected_to_fail) {
  const Expected expected = Asked("add").floats({2}, {1, 2}).floats({3}, {1, 2, 3}).expected();
  EXPECT_TRUE(expected.results.empty());
  EXPECT_EQ(expected.error, "add");
  EXPECT_EQ(expected.error_class, BP_BAD_ARGUMENT);
}

TEST(Judge, an_index_out_of_range_is_expected_to_fail_in_its_own_call) {
  Asked bad("gather");
  bad.floats({3}, {1, 2, 3}).whole(0).tensor<std::int64_t>(i64, {2}, {0, 3});
  EXPECT_NE(bad.expected().error, "");
  Asked good("gather");
  good.floats({3}, {1, 2, 3}).whole(0).tensor<std::int64_t>(i64, {2}, {0, 2});
  EXPECT_EQ(good.expected().error, "");
}

TEST(Judge, functions_keep_the_sign_of_zero) {
  EXPECT_TRUE(compare(bytes_of<float>({-0.0f}), Asked("sin").floats({1}, {-0.0f}).first()).ok);
  EXPECT_FALSE(compare(bytes_of<float>({0.0f}), Asked("sin").floats({1}, {-0.0f}).first()).ok);
  const ExpectedTensor sum = Asked("add").floats({1}, {-0.0f}).floats({1}, {-0.0f}).first();
  EXPECT_TRUE(compare(bytes_of<float>({-0.0f}), sum).ok);
  EXPECT_FALSE(compare(bytes_of<float>({0.0f}), sum).ok);
}

TEST(Judge, functions_of_complex_numbers_are_judged_as_a_whole_and_on_both_sides_of_cuts) {
  using Numbers = std::vector<std::complex<float>>;
  const float inf = std::numeric_limits<float>::infinity();
  const Numbers at{{-4, 0.0f}, {-4, -0.0f}, {1, 2}, {1, -inf}, {-0.0f, 0}};
  const ExpectedTensor roots = Asked("sqrt", complex64).tensor(complex64, {5}, at).first();
  const auto judged = [&](std::size_t place, std::complex<float> value) {
    Numbers given{{0, 2}, {0, -2}, std::sqrt(at[2]), {inf, -inf}, {0, 0}};
    given[place] = value;
    return compare(bytes_of(given), roots).ok;
  };
  EXPECT_TRUE(judged(2, std::sqrt(at[2]) + std::complex<float>(1e-7f, -1e-7f)));
  EXPECT_FALSE(judged(2, std::sqrt(at[2]) + std::complex<float>(0, 2e-6f)));
  EXPECT_FALSE(judged(2, std::sqrt(at[2]).real()));
  EXPECT_FALSE(judged(1, {0, 2}));
  EXPECT_FALSE(judged(0, {-0.0f, 2}));
  EXPECT_FALSE(judged(3, {inf, inf}));
  const ExpectedTensor size =
      Asked("abs", complex64).tensor(complex64, {2}, Numbers{{3, -4}, {-inf, NAN}}).first();
  EXPECT_TRUE(compare(bytes_of<float>({5, inf}), size).ok);
  EXPECT_FALSE(compare(bytes_of<float>({5, NAN}), size).ok);
}

TEST(Judge, gradients_follow_the_results_and_a_wrong_one_is_caught) {
  const std::vector<float> a = numbers(12, 3), b = numbers(12, 4);
  Asked asked("mul");
  asked.floats({3, 4}, a).floats({3, 4}, b);
  const Expected expected = asked.expected(true);
  ASSERT_EQ(expected.results.size(), 3u);
  const std::vector<Laid> weights = cotangents(expected, asked.one());
  ASSERT_EQ(weights.size(), 1u);
  std::vector<float> weight(12), gradient;
  std::memcpy(weight.data(), weights[0].storage.data(), weights[0].storage.size());
  for (std::size_t i = 0; i < 12; ++i) gradient.push_back(weight[i] * b[i]);
  EXPECT_TRUE(compare(bytes_of(gradient), expected.results[1]).ok)
      << compare(bytes_of(gradient), expected.results[1]).why;
  EXPECT_FALSE(compare(bytes_of(gradient), expected.results[2]).ok);
  gradient[5] *= 1.0001f;
  EXPECT_FALSE(compare(bytes_of(gradient), expected.results[1]).ok);
}

// The mean of equal numbers is rounded too, and their variance need not be 0.
TEST(Judge, equal_elements_of_an_expanded_tensor_are_rounded_each_for_itself) {
  ensure_operators();
  const auto variance_of = [](const std::string& layout) {
    const Case one = read_case("core:var[f64]/s257x5:dim=0/" + layout + "/cancel/call@1");
    return expect(make_problem(one), one, {}, false).results.at(0);
  };
  const ExpectedTensor equal = variance_of("expand"), plain = variance_of("plain");
  ASSERT_EQ(equal.bound.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(doubles_of(equal.wide)[i], 0);
    EXPECT_GT(equal.bound[i], 1e-20);
    EXPECT_LT(plain.bound[i], doubles_of(plain.wide)[i]);
  }
}

// They share the oracle's generator.
TEST(Judge, threads_draw_the_numbers_of_their_own_cases) {
  ensure_operators();
  const auto draw = [](const char* row) {
    const Case one = read_case(std::string("core:") + row + "[f32]/sample:vector/plain/own/call@1");
    const Expected expected = expect(make_problem(one), one, {}, false);
    return doubles_of(expected.results.at(0).wide);
  };
  const std::vector<double> normal = draw("randn"), uniform = draw("rand");
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int turn = 0; turn < 100; ++turn)
        wrong += i % 2 == 0 ? draw("randn") != normal : draw("rand") != uniform;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Judge, the_oracle_rounds_a_cast_to_even) {
  const std::vector<float> a = {1 + 0x1p-11f, 1 + 3 * 0x1p-11f, 65520, 1e-8f};
  const Tensor cast = to(tensor(a, {4}, {.device = oracle()}), f16);
  std::vector<std::uint16_t> codes(4);
  std::memcpy(codes.data(), cast.data_ptr(), 8);
  EXPECT_EQ(codes, halves({1, 1 + 0x1p-9f, HUGE_VALF, 0}));
}

}  // namespace
}  // namespace bp::conform
