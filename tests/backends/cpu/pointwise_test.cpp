// needs: cpu
// Pointwise operators over all sizes, layouts and dtypes that take different ways through the tile engine,
// against plain loops in double or int64_t; for each instruction set.
#include <bit>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "backends/cpu/dtypes.hpp"
#include "backends/cpu/targets.hpp"
#include "constants.hpp"

namespace bp_test {
namespace {

const std::vector<int64_t>& sizes() {
  static const std::vector<int64_t> all = [] {
    std::vector<int64_t> list;
    for (int64_t size = 1; size <= 70; ++size) list.push_back(size);
    list.insert(list.end(), {255, 256, 257, 511, 512, 513, 4097, 70001});
    return list;
  }();
  return all;
}

// Small whole numbers, exact in every dtype.
Data numbers(uint32_t dtype, Data data, int64_t shift) {
  const int64_t lowest = is_signed(dtype) ? -5 : 0;
  for (int64_t i = 0; i < data.numel(); ++i) {
    const int64_t number = (i * 7 + shift) % 11;
    set_number(data, dtype, i,
               static_cast<double>(dtype == BP_BOOL ? number % 2 : lowest + number));
  }
  return data;
}

using Binary = std::function<double(double, double)>;

void expect_binary(const std::string& name, uint32_t dtype, Data a, Data b, const Binary& truth,
                   uint32_t out_dtype, std::vector<bp_value> more = {}) {
  Data out(out_dtype, a.shape());
  std::vector<bp_value> args = {value(a), value(b)};
  args.insert(args.end(), more.begin(), more.end());
  run(name, args, {&out});
  for (int64_t i = 0; i < out.numel(); ++i) {
    const double expected = truth(get_number(a, dtype, i), get_number(b, dtype, i));
    ASSERT_EQ(get_number(out, out_dtype, i), expected)
        << name << " of " << dtype_name(dtype) << ", element " << i << " of " << out.numel();
  }
}

const std::vector<uint32_t> arithmetic_dtypes = {BP_U8,  BP_I8,  BP_I16, BP_I32,  BP_I64, BP_U16,
                                                 BP_U32, BP_U64, BP_F16, BP_BF16, BP_F32, BP_F64};

TEST(Pointwise, every_size_and_dtype) {
  for_each_target([](const std::string&) {
    for (uint32_t dtype : arithmetic_dtypes) {
      for (int64_t size : sizes()) {
        const Data a = numbers(dtype, Data(dtype, {size}), 3),
                   b = numbers(dtype, Data(dtype, {size}), 8);
        expect_binary("mul", dtype, a, b, std::multiplies<>(), dtype);
        expect_binary(
            "maximum", dtype, a, b, [](double x, double y) { return std::max(x, y); }, dtype);
        expect_binary("lt", dtype, a, b, std::less<>(), BP_BOOL);
        expect_binary("ge", dtype, a, b, std::greater_equal<>(), BP_BOOL);
        expect_binary("logical_and", dtype, a, b, std::logical_and<>(), BP_BOOL);
      }
    }
  });
}

TEST(Pointwise, alpha_is_left_out_only_when_it_is_one) {
  for (uint32_t dtype : {BP_F32, BP_F64, BP_I64, BP_BF16, BP_COMPLEX64}) {
    for (int64_t size : {1, 5, 513, 70001}) {
      const Data a = numbers(dtype, Data(dtype, {size}), 1),
                 b = numbers(dtype, Data(dtype, {size}), 2);
      for (int alpha : {1, 2, 0}) {
        const auto truth = [=](double x, double y) { return x + alpha * y; };
        expect_binary("add", dtype, a, b, truth, dtype, {value(alpha)});
        expect_binary("add", dtype, a, b, truth, dtype, {value(static_cast<double>(alpha))});
      }
      expect_binary("sub", dtype, a, b, std::minus<>(), dtype, {value(true)});
    }
  }
}

// Every pair of these layouts; the result is row-major, and then transposed as well.
TEST(Pointwise, every_layout) {
  const auto layouts = [](uint32_t dtype, const Sizes& shape) {
    const int64_t rows = shape[0], middle = shape[1], columns = shape[2];
    return std::vector<Data>{
        Data(dtype, shape),
        Data(dtype, shape, {0, 0, 0}),
        Data(dtype, shape, {0, 0, 1}),
        Data(dtype, shape, {1, 0, 0}),
        Data(dtype, shape, {middle * columns * 2, columns * 2, 2}),
        Data(dtype, shape, {1, rows, rows * middle}),
        Data(dtype, shape, {columns, columns * rows, 1}),
        Data(dtype, shape, {middle * (columns + 3), columns + 3, 1}),
    };
  };
  for (const Sizes& shape :
       {Sizes{2, 3, 4}, Sizes{7, 1, 65}, Sizes{3, 5, 600}, Sizes{65, 9, 3}, Sizes{40, 2, 150}}) {
    for (uint32_t dtype : {BP_F32, BP_U8, BP_F16, BP_I64, BP_COMPLEX128}) {
      for (const Data& left : layouts(dtype, shape)) {
        const Data a = numbers(dtype, left, 4);
        for (const Data& right : layouts(dtype, shape)) {
          const Data b = numbers(dtype, right, 6);
          expect_binary("mul", dtype, a, b, std::multiplies<>(), dtype);
        }
      }
    }
  }
}

// Inputs that run along another dimension than the result are turned block by block: edges of blocks, two of one call, one more than
// are turned, masks beside numbers, and results so large that they go past the caches.
// As a bias is: of as many rows as share no divisor, a few, or all with the copies that are made of it.
TEST(Pointwise, a_row_that_all_rows_meet) {
  for (uint32_t dtype : {BP_F32, BP_BF16, BP_I64, BP_F64}) {
    for (const Sizes& shape :
         {Sizes{4096, 3}, Sizes{64, 64}, Sizes{257, 31}, Sizes{100, 65}, Sizes{12, 500},
          Sizes{8, 1000}, Sizes{30, 2100}, Sizes{5, 4, 7, 60}}) {
      const Data a = numbers(dtype, Data(dtype, shape), 3);
      Sizes strides(shape.size(), 0);
      strides.back() = 1;
      const Data row = numbers(dtype, Data(dtype, shape, strides), 8);
      expect_binary("mul", dtype, a, row, std::multiplies<>(), dtype);
      expect_binary("sub", dtype, row, a, std::minus<>(), dtype, {value(1)});
      expect_binary("mul", dtype, row, row, std::multiplies<>(), dtype);
      expect_binary("lt", dtype, row, a, std::less<>(), BP_BOOL);
    }
  }
}

TEST(Pointwise, inputs_that_run_across_the_result) {
  for_each_target([](const std::string&) {
    for (const Sizes& shape : {Sizes{8, 128}, Sizes{33, 129}, Sizes{7, 300}, Sizes{65, 1100},
                               Sizes{1, 200}, Sizes{2, 41, 513}}) {
      const size_t rank = shape.size();
      const int64_t rows = shape[rank - 2], columns = shape[rank - 1];
      const Sizes across = rank == 2 ? Sizes{1, rows} : Sizes{rows * columns, 1, rows};
      const Sizes apart = rank == 2 ? Sizes{1, rows + 3} : Sizes{0, 1, rows + 3};
      for (uint32_t dtype : {BP_F32, BP_BF16, BP_I64, BP_U8}) {
        const Data a = numbers(dtype, Data(dtype, shape, across), 3),
                   b = numbers(dtype, Data(dtype, shape), 8),
                   c = numbers(dtype, Data(dtype, shape, apart), 1);
        expect_binary("sub", dtype, a, b,
                      [=](double x, double y) {
                        return dtype == BP_U8 ? static_cast<uint8_t>(x - y) : x - y;
                      },
                      dtype, {value(1)});
        expect_binary(
            "maximum", dtype, a, c, [](double x, double y) { return std::max(x, y); }, dtype);
        expect_binary("lt", dtype, b, c, std::less<>(), BP_BOOL);
        Data mask = numbers(BP_BOOL, Data(BP_BOOL, shape, across), 0), left = a, right = c,
             out(dtype, shape);
        run("where", {value(mask), value(left), value(right)}, {&out});
        for (int64_t i = 0; i < out.numel(); ++i)
          ASSERT_EQ(get_number(out, dtype, i),
                    get_number(mask.at<uint8_t>(i) != 0 ? left : right, dtype, i));
      }
    }
  });
  const Sizes large = {1403, 1801};
  expect_binary("add", BP_F32, numbers(BP_F32, Data(BP_F32, large, {1, 1403}), 2),
                numbers(BP_F32, Data(BP_F32, large), 9), std::plus<>(), BP_F32, {value(1)});
}

TEST(Pointwise, writes_into_any_strides) {
  for (uint32_t dtype : {BP_F32, BP_I16, BP_BF16}) {
    for (const Sizes& strides : {Sizes{1, 40}, Sizes{600, 2}, Sizes{1000, 3}}) {
      Data a = numbers(dtype, Data(dtype, {40, 300}), 0), out(dtype, {40, 300}, strides);
      if (strides[0] == 1) out = Data(dtype, {40, 300}, {1, 40});
      run("neg", {value(a)}, {&out});
      for (int64_t i = 0; i < out.numel(); ++i) {
        ASSERT_EQ(get_number(out, dtype, i), -get_number(a, dtype, i)) << i;
      }
    }
  }
}

TEST(Pointwise, numbers_in_place_of_tensors) {
  for (int64_t size : {1, 3, 70, 513, 70001}) {
    Data a = numbers(BP_F32, Data(BP_F32, {size}), 5), out(BP_F32, {size});
    run("sub", {value(1.5), value(a), value(2)}, {&out});
    for (int64_t i = 0; i < size; ++i) ASSERT_EQ(out.at<float>(i), 1.5f - 2 * a.at<float>(i));
    Data mask(BP_BOOL, {size});
    run("gt", {value(a), value(1)}, {&mask});
    for (int64_t i = 0; i < size; ++i) ASSERT_EQ(mask.at<uint8_t>(i), a.at<float>(i) > 1);
    run("where", {value(mask), value(a), value(-7)}, {&out});
    for (int64_t i = 0; i < size; ++i)
      ASSERT_EQ(out.at<float>(i), a.at<float>(i) > 1 ? a.at<float>(i) : -7);
    run("where", {value(mask), value(2), value(3.0)}, {&out});
    for (int64_t i = 0; i < size; ++i) ASSERT_EQ(out.at<float>(i), a.at<float>(i) > 1 ? 2 : 3);
  }
}

void expect_bf16(const std::string& name, const std::vector<bp_value>& args,
                 const std::function<float(float)>& truth) {
  constexpr int64_t size = 1 << 16;
  Data out(BP_BF16, {size});
  run(name, args, {&out});
  for (int64_t i = 0; i < size; ++i) {
    const uint16_t expected = nearest_bf16(truth(wide_bf16(static_cast<uint16_t>(i))));
    const auto got = out.at<uint16_t>(i);
    if (std::isnan(wide_bf16(expected))) {
      ASSERT_TRUE(std::isnan(wide_bf16(got))) << name << " of bits " << i;
    } else {
      ASSERT_EQ(got, expected) << name << " of bits " << i;
    }
  }
}

// All numbers of bf16, with others that it has and with some that it has not.
TEST(Pointwise, bf16_is_rounded_once) {
  constexpr int64_t size = 1 << 16;
  std::vector<uint16_t> all(size);
  for (int64_t i = 0; i < size; ++i) all[static_cast<size_t>(i)] = static_cast<uint16_t>(i);
  Data a = Data::of<uint16_t>(BP_BF16, {size}, all);
  for_each_target([&](const std::string&) {
    for (uint16_t bits : {0x0000, 0x8000, 0x3fc1, 0xc049, 0x0001, 0x7f7f, 0x7f80, 0x7fc0}) {
      const float x = wide_bf16(bits);
      Data b = Data::of<uint16_t>(BP_BF16, {size}, std::vector<uint16_t>(size, bits));
      expect_bf16("mul", {value(a), value(b)}, [=](float y) { return y * x; });
      expect_bf16("div", {value(b), value(a)}, [=](float y) { return x / y; });
      expect_bf16("add", {value(a), value(b), value(1)}, [=](float y) { return y + x; });
      expect_bf16("sub", {value(a), value(b), value(1)}, [=](float y) { return y - x; });
      expect_bf16("sub", {value(a), value(b), value(3)}, [=](float y) { return y - 3 * x; });
    }
    for (double number : {3.0, 0.3, 257.0, 1e300}) {
      const auto x = static_cast<float>(number);
      expect_bf16("mul", {value(a), value(number)}, [=](float y) { return y * x; });
      expect_bf16("leaky_relu", {value(a), value(number)},
                  [=](float y) { return y > 0 ? y : y * x; });
    }
    expect_bf16("mul", {value(a), value(257)}, [](float y) { return y * 257; });
    expect_bf16("sqrt", {value(a)}, [](float y) { return std::sqrt(y); });
    expect_bf16("floor", {value(a)}, [](float y) { return std::floor(y); });
    expect_bf16("round", {value(a)}, [](float y) { return std::nearbyint(y); });
    expect_bf16("square", {value(a)}, [](float y) { return y * y; });
    expect_bf16("sign", {value(a)}, [](float y) { return y > 0 ? 1.0f : y < 0 ? -1.0f : 0.0f; });
  });
}

TEST(Pointwise, signs) {
  for_each_target([](const std::string& target) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> numbers = {nan, -0.0f, 0.0f, 1e-45f, -1e-45f, 1e38f, -INFINITY, 7, -7};
    Data a = Data::of<float>(BP_F32, {9}, numbers);
    Data out(BP_F32, {9});
    run("sign", {value(a)}, {&out});
    EXPECT_EQ(out.values<float>(), (std::vector<float>{0, 0, 0, 1, -1, 1, -1, 1, -1})) << target;
    for (int64_t i = 0; i < 3; ++i) EXPECT_FALSE(std::signbit(out.at<float>(i))) << target;
    const auto lowest = std::numeric_limits<int64_t>::min();
    Data whole = Data::of<int64_t>(BP_I64, {4}, {lowest, -1, 0, 5}), of_whole(BP_I64, {4});
    run("sign", {value(whole)}, {&of_whole});
    EXPECT_EQ(of_whole.values<int64_t>(), (std::vector<int64_t>{-1, -1, 0, 1})) << target;
  });
}

// Beside 2^51, up to which quotients are found in f64.
TEST(Pointwise, quotients_of_large_integers) {
  std::vector<int64_t> left, right;
  for (int64_t base : {int64_t{1} << 50, int64_t{1} << 51, int64_t{1} << 52, int64_t{1} << 62})
    for (int64_t shift : {-1, 0, 1})
      for (int64_t by : {int64_t{1}, int64_t{-1}, int64_t{3}, base - 1, base, base + 1})
        for (int64_t sign : {1, -1}) left.push_back(sign * (base + shift)), right.push_back(by);
  const auto size = static_cast<int64_t>(left.size());
  for_each_target([&](const std::string& target) {
    for (int64_t at = 0; at < size; ++at) {  // each alone too, since blocks differ by their largest
      Data a = Data::of<int64_t>(BP_I64, {1}, {left[static_cast<size_t>(at)]}),
           b = Data::of<int64_t>(BP_I64, {1}, {right[static_cast<size_t>(at)]}), out(BP_I64, {1});
      run("div", {value(a), value(b)}, {&out});
      EXPECT_EQ(out.at<int64_t>(0), a.at<int64_t>(0) / b.at<int64_t>(0)) << target << at;
      run("fmod", {value(a), value(b)}, {&out});
      EXPECT_EQ(out.at<int64_t>(0), a.at<int64_t>(0) % b.at<int64_t>(0)) << target << at;
    }
    Data a = Data::of<int64_t>(BP_I64, {size}, left), b = Data::of<int64_t>(BP_I64, {size}, right),
         out(BP_I64, {size});
    run("floor_divide", {value(a), value(b)}, {&out});
    for (int64_t i = 0; i < size; ++i) {
      const int64_t x = a.at<int64_t>(i), y = b.at<int64_t>(i), whole = x / y;
      EXPECT_EQ(out.at<int64_t>(i), whole - (whole * y != x && (x < 0) != (y < 0))) << target << i;
    }
    run("div", {value(a), value(b)}, {&out});
    for (int64_t i = 0; i < size; ++i)
      EXPECT_EQ(out.at<int64_t>(i), a.at<int64_t>(i) / b.at<int64_t>(i)) << target << i;
  });
}

TEST(Pointwise, quotients_are_rounded_down) {
  std::vector<int64_t> left, right;
  for (int64_t x = -13; x <= 13; ++x)
    for (int64_t y = -5; y <= 5; ++y) left.push_back(x), right.push_back(y);
  const auto lowest = std::numeric_limits<int64_t>::min();
  for (int64_t y : {-1, 0, 1, 2}) left.push_back(lowest), right.push_back(y);
  for_each_target([&](const std::string& target) {
    for (const auto size : {left.size() - 4, left.size()}) {  // the last four leave the way by f64
      const Sizes shape = {static_cast<int64_t>(size)};
      Data out(BP_I64, shape);
      Data a = Data::of<int64_t>(BP_I64, shape, {left.begin(), left.begin() + shape[0]});
      Data b = Data::of<int64_t>(BP_I64, shape, {right.begin(), right.begin() + shape[0]});
      run("floor_divide", {value(a), value(b)}, {&out});
      for (size_t i = 0; i < size; ++i) {
        const auto ratio = static_cast<long double>(left[i]) / static_cast<long double>(right[i]);
        const auto expected = right[i] == 0 ? 0
                              : left[i] == lowest && right[i] == -1
                                  ? lowest
                                  : static_cast<int64_t>(floorl(ratio));
        EXPECT_EQ(out.at<int64_t>(static_cast<int64_t>(i)), expected)
            << target << ": " << left[i] << " by " << right[i];
      }
    }
  });
}

TEST(Pointwise, longer_expressions) {
  for_each_target([](const std::string&) {
    for (int64_t size : {1, 17, 512, 5000}) {
      Data a = numbers(BP_F32, Data(BP_F32, {size}), 5),
           b = numbers(BP_F32, Data(BP_F32, {size}), 2);
      Data out(BP_F32, {size});
      run("silu", {value(a)}, {&out});
      for (int64_t i = 0; i < size; ++i) {
        const float x = a.at<float>(i);
        ASSERT_NEAR(out.at<float>(i), x / (1 + std::exp(-x)), 1e-6);
      }
      run("relu_grad", {value(a), value(b)}, {&out});
      for (int64_t i = 0; i < size; ++i) {
        ASSERT_EQ(out.at<float>(i), a.at<float>(i) > 0 ? b.at<float>(i) : 0);
      }
      run("same", {value(a)}, {&out});
      EXPECT_EQ(out.values<float>(), a.values<float>());
    }
  });
}

TEST(Pointwise, in_place) {
  for (int64_t size : {1, 100, 5000, 300000, 9000000}) {
    Data a = numbers(BP_F32, Data(BP_F32, {size}), 5), b = numbers(BP_F32, Data(BP_F32, {size}), 1);
    Data before = numbers(BP_F32, Data(BP_F32, {size}), 5);
    run("add", {value(a), value(b), value(3)}, {&a});
    run("relu", {value(b)}, {&b});
    for (int64_t i = 0; i < size; i += 1 + size / 1000) {
      ASSERT_EQ(a.at<float>(i), before.at<float>(i) + 3 * ((i * 7 + 1) % 11 - 5));
      ASSERT_EQ(b.at<float>(i), std::max<int64_t>(0, (i * 7 + 1) % 11 - 5));
    }
  }
}

// Large enough to be written past the caches, at each alignment.
TEST(Pointwise, large_results) {
  constexpr int64_t size =
      bp::cpu::constants::streamed_bytes / 8 + 100001;  // of one input and a result
  Data a = numbers(BP_F32, Data(BP_F32, {size}), 5), b = numbers(BP_F32, Data(BP_F32, {size}), 3);
  Data whole(BP_F32, {size + 16}), masks(BP_BOOL, {size + 16});
  const auto number = [](int64_t i, int64_t shift) {
    return static_cast<float>((i * 7 + shift) % 11 - 5);
  };
  using Truth = float (*)(float, float);
  const std::vector<std::pair<std::string, Truth>> binaries = {
      {"mul", [](float x, float y) { return x * y; }},
      {"div", [](float x, float y) { return x / y; }},
      {"maximum", [](float x, float y) { return std::max(x, y); }},
      {"minimum", [](float x, float y) { return std::min(x, y); }}};
  for_each_target([&](const std::string& target) {
    for (int64_t shift : {0, 1, 15}) {
      Data out = whole.part(shift, {size}), mask = masks.part(shift, {size});
      const auto* results = reinterpret_cast<const float*>(out.address(0));
      run("neg", {value(a)}, {&out});
      for (int64_t i = 0; i < size; ++i) ASSERT_EQ(results[i], -number(i, 5)) << target << i;
      run("sqrt", {value(a)}, {&out});
      for (int64_t i = 0; i < size; ++i) {
        if (number(i, 5) < 0) continue;
        ASSERT_EQ(results[i], std::sqrt(number(i, 5))) << target << i;
      }
      for (const auto& [name, truth] : binaries) {
        run(name, {value(a), value(b)}, {&out});
        for (int64_t i = 0; i < size; ++i) {
          const float expected = truth(number(i, 5), number(i, 3));
          if (std::isnan(expected)) continue;
          ASSERT_EQ(results[i], expected) << target << name << i;
        }
      }
      run("lt", {value(a), value(b)}, {&mask});
      for (int64_t i = 0; i < size; ++i)
        ASSERT_EQ(*mask.address(i), number(i, 5) < number(i, 3)) << target << i;
    }
  });
}

TEST(Pointwise, integers_wrap_and_nothing_traps) {
  const auto lowest = std::numeric_limits<int32_t>::min();
  Data a = Data::of<int32_t>(BP_I32, {4}, {lowest, lowest, 7, -7});
  Data b = Data::of<int32_t>(BP_I32, {4}, {-1, 0, 2, 2}), out(BP_I32, {4});
  run("div", {value(a), value(b)}, {&out});
  EXPECT_EQ(out.values<int32_t>(), (std::vector<int32_t>{lowest, 0, 3, -3}));
  run("abs", {value(a)}, {&out});
  EXPECT_EQ(out.values<int32_t>(), (std::vector<int32_t>{lowest, lowest, 7, 7}));
  run("add", {value(a), value(b), value(1)}, {&out});
  EXPECT_EQ(out.at<int32_t>(0), std::numeric_limits<int32_t>::max());
  Data c = Data::of<uint16_t>(BP_U16, {1}, {65535}), square(BP_U16, {1});
  run("mul", {value(c), value(c)}, {&square});
  EXPECT_EQ(square.at<uint16_t>(0), 1);
  Data big = Data::of<uint64_t>(BP_U64, {2}, {~uint64_t{0}, 1}),
       one = Data::of<uint64_t>(BP_U64, {2}, {1, 2});
  Data less(BP_BOOL, {2});
  run("lt", {value(big), value(one)}, {&less});
  EXPECT_EQ(less.values<uint8_t>(), (std::vector<uint8_t>{0, 1}));
}

template <class T> void check_special_numbers(uint32_t dtype) {
  const T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
  std::vector<T> list;
  for (T x : {nan, inf, -inf, T(0), T(-0.0), T(2.5), T(-3.5)}) {
    for (int i = 0; i < 3; ++i) list.push_back(x);
  }
  const auto count = static_cast<int64_t>(list.size());
  for_each_target([&](const std::string& target) {
    for (T other : {nan, T(0), T(-0.0), inf}) {
      Data a = Data::of<T>(dtype, {count}, list);
      Data b = Data::of<T>(dtype, {count}, std::vector<T>(list.size(), other));
      Data greater(dtype, {count}), smaller(dtype, {count}), mask(BP_BOOL, {count});
      run("maximum", {value(a), value(b)}, {&greater});
      run("minimum", {value(b), value(a)}, {&smaller});
      for (int64_t i = 0; i < count; ++i) {
        const T x = list[static_cast<size_t>(i)];
        const bool is_nan = std::isnan(x) || std::isnan(other);
        EXPECT_EQ(std::isnan(greater.at<T>(i)), is_nan) << target << x << other;
        EXPECT_EQ(std::isnan(smaller.at<T>(i)), is_nan) << target << x << other;
        if (is_nan) continue;
        EXPECT_EQ(greater.at<T>(i), std::max(x, other)) << target;
        EXPECT_EQ(smaller.at<T>(i), std::min(x, other)) << target;
        if (x == 0 && std::signbit(x) && std::signbit(other)) {
          EXPECT_TRUE(std::signbit(greater.at<T>(i)));
        }
      }
      run("gt", {value(a), value(b)}, {&mask});
      for (int64_t i = 0; i < count; ++i)
        EXPECT_EQ(mask.at<uint8_t>(i), list[static_cast<size_t>(i)] > other);
      run("ne", {value(a), value(b)}, {&mask});
      for (int64_t i = 0; i < count; ++i)
        EXPECT_EQ(mask.at<uint8_t>(i), list[static_cast<size_t>(i)] != other);
    }
    Data a = Data::of<T>(dtype, {count}, list), out(dtype, {count});
    for (auto [name, truth] :
         std::vector<std::pair<std::string, T (*)(T)>>{{"floor", std::floor},
                                                       {"ceil", std::ceil},
                                                       {"trunc", std::trunc},
                                                       {"round", std::nearbyint},
                                                       {"abs", std::fabs},
                                                       {"neg", [](T x) { return -x; }}}) {
      run(name, {value(a)}, {&out});
      for (int64_t i = 0; i < count; ++i) {
        const T expected = truth(list[static_cast<size_t>(i)]);
        if (std::isnan(expected)) {
          EXPECT_TRUE(std::isnan(out.at<T>(i))) << name;
        } else {
          EXPECT_EQ(out.at<T>(i), expected) << target << " " << name;
          EXPECT_EQ(std::signbit(out.at<T>(i)), std::signbit(expected)) << target << " " << name;
        }
      }
    }
  });
}

TEST(Pointwise, f32_specials) {
  check_special_numbers<float>(BP_F32);
}
TEST(Pointwise, f64_specials) {
  check_special_numbers<double>(BP_F64);
}

TEST(Pointwise, bools) {
  Data a = Data::of<uint8_t>(BP_BOOL, {4}, {0, 0, 1, 1}),
       b = Data::of<uint8_t>(BP_BOOL, {4}, {0, 1, 0, 1});
  for (auto [name, expected] :
       std::vector<std::pair<std::string, std::vector<uint8_t>>>{{"logical_and", {0, 0, 0, 1}},
                                                                 {"logical_or", {0, 1, 1, 1}},
                                                                 {"maximum", {0, 1, 1, 1}},
                                                                 {"mul", {0, 0, 0, 1}},
                                                                 {"eq", {1, 0, 0, 1}},
                                                                 {"ne", {0, 1, 1, 0}},
                                                                 {"lt", {0, 1, 0, 0}},
                                                                 {"le", {1, 1, 0, 1}},
                                                                 {"gt", {0, 0, 1, 0}},
                                                                 {"ge", {1, 0, 1, 1}}}) {
    Data out(BP_BOOL, {4});
    run(name, {value(a), value(b)}, {&out});
    EXPECT_EQ(out.values<uint8_t>(), expected) << name;
  }
  Data out(BP_BOOL, {4});
  run("add", {value(a), value(b), value(1)}, {&out});
  EXPECT_EQ(out.values<uint8_t>(), (std::vector<uint8_t>{0, 1, 1, 1}));
  run("logical_not", {value(a)}, {&out});
  EXPECT_EQ(out.values<uint8_t>(), (std::vector<uint8_t>{1, 1, 0, 0}));
  run("where", {value(a), value(b), value(1)}, {&out});
  EXPECT_EQ(out.values<uint8_t>(), (std::vector<uint8_t>{1, 1, 0, 1}));
}

TEST(Pointwise, says_what_it_accepts) {
  const bp_kernel* add = CpuPlugin::get().kernel("add");
  ASSERT_EQ(add->num_args, 4u);
  EXPECT_EQ(add->args[0].dtypes & (1u << BP_F8_E5M2), 0u);
  EXPECT_NE(add->args[0].dtypes & (1u << BP_COMPLEX64), 0u);
  EXPECT_EQ(add->args[1].scalar_ok, 1);
  EXPECT_EQ(add->args[2].dtypes, 0u);
  const bp_kernel* where = CpuPlugin::get().kernel("where");
  EXPECT_EQ(where->args[0].dtypes, 1u << BP_BOOL);
  EXPECT_NE(where->args[1].dtypes, 1u << BP_BOOL);
  EXPECT_EQ(CpuPlugin::get().kernel("lt")->args[2].dtypes, 1u << BP_BOOL);
  EXPECT_EQ(CpuPlugin::get().kernel("lt")->args[0].dtypes & (1u << BP_COMPLEX64), 0u);
  EXPECT_EQ(CpuPlugin::get().kernel("exp")->args[0].dtypes & (1u << BP_I32), 0u);
}

}  // namespace
}  // namespace bp_test
