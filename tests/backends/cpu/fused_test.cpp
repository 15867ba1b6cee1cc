// needs: cpu
// Expressions that the plugin makes one step of, against the same expressions computed node by node here: the same bits, for each
// instruction set, at every size, with NaN, infinities and zeros, of tensors in any order and with numbers in place of them.
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "backends/cpu/dtypes.hpp"
#include "backends/cpu/targets.hpp"

namespace bp_test::fused_steps {
namespace {

template <class T> T step_of(uint16_t code, T a, T b, T c) {
  switch (code) {
    case BP_X_ADD: return a + b;
    case BP_X_SUB: return a - b;
    case BP_X_MUL: return a * b;
    case BP_X_DIV: return a / b;
    case BP_X_MAX: return a > b || a != a ? a : b;
    case BP_X_MIN: return a < b || a != a ? a : b;
    case BP_X_LT: return a < b;
    case BP_X_GT: return a > b;
    case BP_X_EQ: return a == b;
    case BP_X_NE: return a != b;
    case BP_X_AND: return a != 0 && b != 0;
    case BP_X_SELECT: return a != 0 ? b : c;
    case BP_X_ABS: return a < 0 || (a == 0 && std::signbit(static_cast<double>(a))) ? -a : a;
    case BP_X_SQRT: return static_cast<T>(std::sqrt(a));
    case BP_X_EXPM1: return static_cast<T>(std::expm1(a));
    default: ADD_FAILURE() << "step " << code; return a;
  }
}

template <class T> T compute(const bp_operator& op, const std::vector<T>& args) {
  std::vector<T> values;
  for (uint32_t i = 0; i < op.num_nodes; ++i) {
    const bp_expr_node& node = op.nodes[i];
    if (node.code == BP_X_ARG) {
      values.push_back(args.at(node.a));
    } else if (node.code == BP_X_CONST) {
      values.push_back(static_cast<T>(node.imm));
    } else {
      values.push_back(step_of(node.code, values[node.a], values[node.b], values[node.c]));
    }
  }
  return values.back();
}

// What a value of `dtype` is computed as, and back.
template <class T> T wide(Data& data, int64_t i) {
  if (data.dtype() == BP_BF16) return static_cast<T>(wide_bf16(data.at<uint16_t>(i)));
  return data.at<T>(i);
}
template <class T> void expect_same(Data& out, int64_t i, T expected, double ulps) {
  const T rounded = out.dtype() == BP_BF16 && std::is_same_v<T, float>
                        ? static_cast<T>(wide_bf16(nearest_bf16(static_cast<float>(expected))))
                        : expected;
  const T got = wide<T>(out, i);
  if (rounded != rounded) {
    ASSERT_NE(got, got) << i;
  } else if (ulps == 0 || rounded == got) {
    ASSERT_EQ(got, rounded) << i;
    ASSERT_EQ(std::signbit(static_cast<double>(got)), std::signbit(static_cast<double>(rounded)))
        << i;
  } else {
    const double unit = out.dtype() == BP_BF16 ? 0x1p-7 : std::numeric_limits<T>::epsilon();
    const auto size = static_cast<double>(rounded);
    ASSERT_NEAR(static_cast<double>(got), size, ulps * unit * std::fabs(size)) << i;
  }
}

struct FusedCase {
  const char* name;
  int num_tensors;
  std::vector<double> numbers;  // after the tensors
  double ulps;
};

std::vector<FusedCase> fused_cases() {
  std::vector<FusedCase> all = {{"hardswish", 1, {}, 0},
                                {"rsqrt", 1, {}, 0},
                                {"reciprocal", 1, {}, 0},
                                {"hypot", 2, {}, 0},
                                {"lerp", 3, {}, 0}};
  for (double slope : {0.01, 1.0, 2.0, -HUGE_VAL}) all.push_back({"leaky_relu", 1, {slope}, 0});
  for (double alpha : {1.0, 0.3, 4.0}) all.push_back({"elu", 1, {alpha}, 4});
  for (double weight : {0.3, 0.5, 0.75, 1.0, 7.0}) all.push_back({"lerp", 2, {weight}, 0});
  for (double value : {1.0, 0.3}) {
    all.push_back({"addcmul", 3, {value}, 0});
    all.push_back({"addcdiv", 3, {value}, 0});
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (auto [min, max] : {std::pair{-1.0, 1.0},
                          {0.1, 0.3},
                          {1.0, 1.0},
                          {2.0, -2.0},
                          {nan, 1.0},
                          {0.0, nan},
                          {0.0, 6.0},
                          {-0.0, 0.0},
                          {-HUGE_VAL, 3.0}})
    all.push_back({"clamp", 1, {min, max}, 0});
  return all;
}

enum class Order { contiguous, transposed, row, column };

template <class T>
void expect_case(const FusedCase& one, uint32_t dtype, Sizes shape, Order layout) {
  static const std::vector<double> samples = {std::numeric_limits<double>::quiet_NaN(),
                                              0.0,
                                              -0.0,
                                              INFINITY,
                                              -INFINITY,
                                              1,
                                              -1,
                                              3,
                                              -3,
                                              0.5,
                                              -0.25,
                                              6,
                                              1e-40,
                                              -1e-40,
                                              1e30,
                                              -1e30,
                                              0.3,
                                              2.5,
                                              100,
                                              -7,
                                              17,
                                              -0.001};
  std::vector<Data> tensors;
  for (int k = 0; k < one.num_tensors; ++k) {
    Data data(dtype, shape);
    if (k == 0 && layout == Order::transposed) data = Data(dtype, shape, {1, shape[0]});
    if (k == 0 && layout == Order::row) data = Data(dtype, shape, {0, 1});
    if (k == 0 && layout == Order::column) data = Data(dtype, shape, {1, 0});
    for (int64_t i = 0; i < data.numel(); ++i) {
      const auto at = static_cast<size_t>(i + i / 22 * (k + 1) + 5 * k);
      const double sample = samples[at % samples.size()];
      if (dtype == BP_I64)
        data.at<int64_t>(i) = std::fabs(sample) < 1000 ? static_cast<int64_t>(sample) : i;
      else
        set_number(data, dtype, i, sample);
    }
    tensors.push_back(data);
  }
  std::vector<bp_value> args;
  for (Data& tensor : tensors) args.push_back(value(tensor));
  for (double number : one.numbers) args.push_back(value(number));
  Data out(dtype, shape);
  run(one.name, args, {&out});
  for (int64_t i = 0; i < out.numel(); ++i) {
    std::vector<T> values;
    for (Data& tensor : tensors) values.push_back(wide<T>(tensor, i));
    for (double number : one.numbers) values.push_back(static_cast<T>(number));
    expect_same<T>(out, i, compute(CpuPlugin::get().op(one.name), values), one.ulps);
    if (testing::Test::HasFatalFailure()) {
      FAIL() << one.name << " of " << dtype_name(dtype) << ", " << shape[0] << " by " << shape[1]
             << ", layout " << static_cast<int>(layout);
    }
  }
}

template <class T> void expect_cases(uint32_t dtype) {
  for_each_target([&](const std::string& target) {
    SCOPED_TRACE(target);
    for (const FusedCase& one : fused_cases()) {
      for (int64_t size = 1; size <= 18; ++size)
        expect_case<T>(one, dtype, {1, size}, Order::contiguous);
      for (Order layout : {Order::contiguous, Order::transposed, Order::row, Order::column}) {
        for (const Sizes& shape : {Sizes{7, 5}, Sizes{3, 171}, Sizes{3, 1025}, Sizes{40, 37}}) {
          expect_case<T>(one, dtype, shape, layout);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  });
}

TEST(Fused, f32_has_the_bits_of_single_steps) {
  expect_cases<float>(BP_F32);
}
TEST(Fused, f64_has_the_bits_of_single_steps) {
  expect_cases<double>(BP_F64);
}
TEST(Fused, bf16_is_computed_in_f32_and_rounded_once) {
  expect_cases<float>(BP_BF16);
}
TEST(Fused, integers_are_limited) {
  for_each_target([](const std::string&) {
    for (const FusedCase& one :
         {FusedCase{"clamp", 1, {-3, 5}, 0}, FusedCase{"clamp", 1, {1, 1}, 0}})
      for (const Sizes& shape : {Sizes{1, 1}, Sizes{1, 3}, Sizes{7, 5}, Sizes{3, 1025}})
        for (Order layout : {Order::contiguous, Order::transposed, Order::row, Order::column})
          expect_case<int64_t>(one, BP_I64, shape, layout);
  });
}

// Its division goes by the reciprocal, and must be the division: a number of each size between the limits, and many at random.
template <class T> void expect_sixths(uint32_t dtype) {
  constexpr int64_t count = 1 << 18;
  Data x(dtype, {count}), out(dtype, {count});
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> within(-3, 3);
  for (int64_t i = 0; i < count; ++i) {
    const double near = i % 2 ? -3 : 3,
                 size = std::ldexp(1 + within(random) / 6, -static_cast<int>(i % 64));
    x.at<T>(i) = static_cast<T>(i % 3 == 0 ? within(random) : near < 0 ? near + size : near - size);
  }
  for_each_target([&](const std::string& target) {
    run("hardswish", {value(x)}, {&out});
    for (int64_t i = 0; i < count; ++i) {
      const T in = x.at<T>(i), sum = in + T(3);
      ASSERT_EQ(out.at<T>(i), in * (std::min(std::max(sum, T(0)), T(6)) / T(6)))
          << target << ", " << in;
    }
  });
}
TEST(Fused, sixths_are_rounded_once) {
  expect_sixths<float>(BP_F32);
  expect_sixths<double>(BP_F64);
}

}  // namespace
}  // namespace bp_test::fused_steps
