// needs: cpu
// Copies between any strides, and casts between every pair of dtypes; for each instruction set.
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/cpu/dtypes.hpp"
#include "backends/cpu/targets.hpp"

namespace bp_test {
namespace {

// Bytes that differ from element to element.
Data filled(uint32_t dtype, Data data) {
  const auto itemsize = static_cast<int64_t>(itemsize_of(dtype));
  for (int64_t i = 0; i < data.numel(); ++i) {
    for (int64_t byte = 0; byte < itemsize; ++byte) {
      data.address(i)[byte] =
          static_cast<char>(dtype == BP_BOOL ? i % 2 : (i >> (8 * (byte % 4))) * 3 + byte);
    }
  }
  return data;
}

void check_copy(uint32_t dtype, Data from, Data to) {
  from = filled(dtype, from);
  run("copy", {value(from)}, {&to});
  for (int64_t i = 0; i < from.numel(); ++i) {
    ASSERT_EQ(std::memcmp(from.address(i), to.address(i), itemsize_of(dtype)), 0)
        << dtype_name(dtype) << ::testing::PrintToString(from.shape()) << " element " << i;
  }
}

const std::vector<uint32_t> one_of_each_size = {BP_U8, BP_BF16, BP_F32, BP_I64, BP_COMPLEX128};

TEST(Copy, between_any_strides) {
  for_each_target([](const std::string&) {
    for (uint32_t dtype : one_of_each_size) {
      for (const Sizes& shape :
           {Sizes{1, 1}, Sizes{5, 3}, Sizes{70, 65}, Sizes{17, 300}, Sizes{129, 130}}) {
        const int64_t rows = shape[0], columns = shape[1];
        const std::vector<Sizes> layouts = {
            {columns, 1}, {1, rows}, {2 * columns, 2}, {columns + 5, 1}, {3, 3 * rows}};
        for (const Sizes& from : layouts) {
          for (const Sizes& to : layouts)
            check_copy(dtype, Data(dtype, shape, from), Data(dtype, shape, to));
        }
        check_copy(dtype, Data(dtype, shape, {0, 1}), Data(dtype, shape));
        check_copy(dtype, Data(dtype, shape, {1, 0}), Data(dtype, shape));
      }
    }
  });
}

TEST(Copy, permuted_dimensions) {
  for (uint32_t dtype : one_of_each_size) {
    const Data whole(dtype, {9, 20, 33, 4});
    for (const std::vector<size_t>& order : {std::vector<size_t>{0, 2, 1, 3},
                                             {3, 2, 1, 0},
                                             {2, 0, 3, 1},
                                             {0, 1, 3, 2},
                                             {1, 0, 2, 3}}) {
      const Data from = whole.permuted(order);
      check_copy(dtype, from, Data(dtype, from.shape()));
    }
  }
}

// As colours do: two to five numbers, in rows that fill vectors and blocks, or end within one.
TEST(Copy, few_numbers_together) {
  for_each_target([](const std::string&) {
    for (uint32_t dtype : one_of_each_size)
      for (int64_t few : {2, 3, 4, 5})
        for (int64_t many : {7, 8, 34, 700, 4099}) {
          const Data colours(dtype, {2, few, many}), pixels(dtype, {2, many, few});
          check_copy(dtype, colours.permuted({0, 2, 1}), pixels);
          check_copy(dtype, pixels.permuted({0, 2, 1}), colours);
        }
  });
}

TEST(Copy, large_transposes) {
  for_each_target([](const std::string&) {
    for (auto [dtype, rows, columns] : {std::tuple{BP_F32, 1300, 1204},
                                        {BP_I64, 1100, 808},
                                        {BP_F16, 1301, 1111},
                                        {BP_F32, 1600, 1024}}) {
      check_copy(dtype, Data(dtype, {rows, columns}, {1, rows}), Data(dtype, {rows, columns}));
    }
  });
}

// What casting `x` should give, in double.
double cast_truth(double x, uint32_t to) {
  switch (to) {
    case BP_BOOL: return x != 0;
    case BP_U8: return static_cast<uint8_t>(static_cast<int64_t>(x));
    case BP_I8: return static_cast<int8_t>(static_cast<int64_t>(x));
    case BP_U16: return static_cast<uint16_t>(static_cast<int64_t>(x));
    case BP_I16: return static_cast<int16_t>(static_cast<int64_t>(x));
    case BP_U32: return static_cast<uint32_t>(static_cast<int64_t>(x));
    case BP_I32: return static_cast<int32_t>(static_cast<int64_t>(x));
    case BP_I64: return static_cast<double>(static_cast<int64_t>(x));
    case BP_U64: return static_cast<double>(static_cast<uint64_t>(static_cast<int64_t>(x)));
    default: return x;
  }
}

TEST(Cast, every_pair_of_dtypes) {
  for_each_target([](const std::string&) {
    for (uint32_t from = 0; from < BP_F8_E4M3FN; ++from) {
      for (uint32_t to = 0; to < BP_NUM_DTYPES; ++to) {
        if (from == to) continue;
        for (int64_t size : {1, 15, 67, 600}) {
          Data a(from, {size}), out(to, {size});
          for (int64_t i = 0; i < size; ++i) {
            const double whole = static_cast<double>(i % 7) - (is_signed(from) ? 3 : 0);
            const double fraction =
                is_floating(from) || is_complex(from) ? 0.5 * static_cast<double>(i % 2) : 0;
            set_number(a, from, i, from == BP_BOOL ? static_cast<double>(i % 2) : whole + fraction);
          }
          run("cast", {value(a), value(static_cast<int64_t>(to))}, {&out});
          for (int64_t i = 0; i < size; ++i) {
            ASSERT_EQ(get_number(out, to, i), cast_truth(get_number(a, from, i), to))
                << dtype_name(from) << " " << get_number(a, from, i) << " to " << dtype_name(to);
          }
        }
      }
    }
  });
}

TEST(Cast, every_small_float_to_f32_and_back) {
  for_each_target([](const std::string&) {
    for (uint32_t dtype : {BP_F16, BP_BF16, BP_F8_E4M3FN, BP_F8_E5M2}) {
      const uint32_t count = itemsize_of(dtype) == 1 ? 256 : 65536;
      Data a(dtype, {count}), wide(BP_F32, {count}), back(dtype, {count});
      for (uint32_t i = 0; i < count; ++i) std::memcpy(a.address(i), &i, itemsize_of(dtype));
      run("cast", {value(a), value(static_cast<int64_t>(BP_F32))}, {&wide});
      run("cast", {value(wide), value(static_cast<int64_t>(dtype))}, {&back});
      for (uint32_t i = 0; i < count; ++i) {
        const double truth = get_number(a, dtype, i);
        if (std::isnan(truth)) {
          EXPECT_TRUE(std::isnan(wide.at<float>(i))) << i;
          EXPECT_TRUE(std::isnan(get_number(back, dtype, i))) << i;
        } else {
          ASSERT_EQ(wide.at<float>(i), truth) << dtype_name(dtype) << i;
          ASSERT_EQ(std::signbit(wide.at<float>(i)), std::signbit(truth)) << i;
          ASSERT_EQ(std::memcmp(a.address(i), back.address(i), itemsize_of(dtype)), 0)
              << dtype_name(dtype) << i;
        }
      }
    }
  });
}

// Halfway between neighbours, and just beside: the nearest, and the even one of two.
TEST(Cast, rounds_to_nearest_even) {
  for_each_target([](const std::string& target) {
    for (uint32_t dtype : {BP_F16, BP_BF16, BP_F8_E4M3FN, BP_F8_E5M2}) {
      const uint32_t count = itemsize_of(dtype) == 1 ? 0x7f : 0x7f80;
      std::vector<float> inputs;
      std::vector<double> expected;
      for (uint32_t bits = 0; bits + 1 < count; bits += itemsize_of(dtype) == 1 ? 1 : 37) {
        const uint32_t above_bits = bits + 1;
        const double low = decode(dtype, &bits), high = decode(dtype, &above_bits);
        if (!std::isfinite(low) || !std::isfinite(high)) break;
        const auto middle = static_cast<float>((low + high) / 2);
        const double even = bits % 2 == 0 ? low : high;
        const float inf = std::numeric_limits<float>::infinity();
        for (auto [x, truth] : {std::pair{middle, even},
                                {std::nextafter(middle, 0.0f), low},
                                {std::nextafter(middle, inf), high}}) {
          if (low + high == 0 || (x == 0 && truth == 0)) continue;
          inputs.push_back(x);
          expected.push_back(truth);
          inputs.push_back(-x);
          expected.push_back(-truth);
        }
      }
      const auto size = static_cast<int64_t>(inputs.size());
      Data a = Data::of<float>(BP_F32, {size}, inputs), out(dtype, {size});
      run("cast", {value(a), value(static_cast<int64_t>(dtype))}, {&out});
      for (int64_t i = 0; i < size; ++i) {
        ASSERT_EQ(get_number(out, dtype, i), expected[static_cast<size_t>(i)])
            << target << " " << dtype_name(dtype) << " of " << inputs[static_cast<size_t>(i)];
      }
    }
  });
}

TEST(Cast, beyond_the_range) {
  const float inf = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> inputs = {inf, -inf, nan,   1e30f, -1e30f, 500,   70000, 448,
                                     464, 465,  57344, 61439, 61440,  65519, 65520, 3e38f};
  const auto size = static_cast<int64_t>(inputs.size());
  Data a = Data::of<float>(BP_F32, {size}, inputs);
  for_each_target([&](const std::string& target) {
    const auto cast = [&](uint32_t dtype) {
      Data out(dtype, {size});
      run("cast", {value(a), value(static_cast<int64_t>(dtype))}, {&out});
      std::vector<double> list;
      for (int64_t i = 0; i < size; ++i) list.push_back(get_number(out, dtype, i));
      return list;
    };
    const auto e4m3 = cast(BP_F8_E4M3FN), e5m2 = cast(BP_F8_E5M2), f16 = cast(BP_F16),
               i32 = cast(BP_I32), i64 = cast(BP_I64), truth = cast(BP_BOOL), u8 = cast(BP_U8);
    for (size_t i : {0, 1, 2, 3, 4, 5, 6, 9}) EXPECT_TRUE(std::isnan(e4m3[i])) << i;
    EXPECT_EQ(e4m3[7], 448);
    EXPECT_EQ(e4m3[8], 448);
    EXPECT_EQ(e5m2[0], inf);
    EXPECT_TRUE(std::isnan(e5m2[2]));
    EXPECT_EQ(e5m2[3], inf);
    EXPECT_EQ(e5m2[10], 57344);
    EXPECT_EQ(e5m2[11], 57344);
    EXPECT_EQ(e5m2[12], inf);
    EXPECT_EQ(f16[13], 65504) << target;
    EXPECT_EQ(f16[14], inf) << target;
    EXPECT_EQ(f16[1], -inf);
    for (size_t i : {0, 1, 2, 3, 4, 15}) {
      EXPECT_EQ(i32[i], std::numeric_limits<int32_t>::min()) << target << i;
      EXPECT_EQ(i64[i], static_cast<double>(std::numeric_limits<int64_t>::min())) << target << i;
      EXPECT_EQ(truth[i], 1);
    }
    EXPECT_EQ(u8[5], 500 - 256) << target;
  });
}

TEST(Cast, numbers_that_only_64_bits_hold) {
  const auto most = std::numeric_limits<uint64_t>::max();
  Data a = Data::of<uint64_t>(BP_U64, {3}, {most, uint64_t{1} << 63, 12345678901234567u}),
       out(BP_F64, {3}), back(BP_U64, {3});
  run("cast", {value(a), value(static_cast<int64_t>(BP_F64))}, {&out});
  EXPECT_EQ(out.values<double>(), (std::vector<double>{0x1p64, 0x1p63, 12345678901234568.0}));
  Data b = Data::of<double>(BP_F64, {3}, {0x1p63, 0x1.8p63, 3.9});
  run("cast", {value(b), value(static_cast<int64_t>(BP_U64))}, {&back});
  EXPECT_EQ(back.values<uint64_t>(),
            (std::vector<uint64_t>{uint64_t{1} << 63, uint64_t{3} << 62, 3}));
  Data c = Data::of<int64_t>(BP_I64, {2}, {-1, 9007199254740993}), narrow(BP_I32, {2});
  run("cast", {value(c), value(static_cast<int64_t>(BP_I32))}, {&narrow});
  EXPECT_EQ(narrow.values<int32_t>(), (std::vector<int32_t>{-1, 1}));
}

// Beside 2^51, 2^24 and 2^63, at which ways of converting change: alone, and among small numbers in blocks.
TEST(Cast, integers_of_64_bits_from_and_to_floats) {
  std::vector<int64_t> numbers(300, 7);
  const auto place = [&](size_t at, int64_t number) { numbers[at] = number; };
  size_t at = 3;
  for (int64_t base : {int64_t{1} << 24, int64_t{1} << 51, int64_t{1} << 53, int64_t{1} << 62}) {
    for (int64_t number : {base - 1, base, base + 1, -base - 1}) place(at, number), at += 17;
  }
  place(290, std::numeric_limits<int64_t>::min());
  const auto size = static_cast<int64_t>(numbers.size());
  for_each_target([&](const std::string& target) {
    const auto cast = [](Data& from, Data& to) {
      run("cast", {value(from), value(static_cast<int64_t>(to.dtype()))}, {&to});
    };
    const auto check = [&](std::vector<int64_t> list) {
      const auto count = static_cast<int64_t>(list.size());
      Data a = Data::of<int64_t>(BP_I64, {count}, list), single(BP_F32, {count}),
           twice(BP_F64, {count}), back(BP_I64, {count});
      cast(a, single);
      cast(a, twice);
      for (int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(single.at<float>(i), static_cast<float>(a.at<int64_t>(i))) << target << i;
        ASSERT_EQ(twice.at<double>(i), static_cast<double>(a.at<int64_t>(i))) << target << i;
      }
      cast(twice, back);
      for (int64_t i = 0; i < count; ++i)
        ASSERT_EQ(back.at<int64_t>(i), static_cast<int64_t>(twice.at<double>(i))) << target << i;
      for (int64_t i = 0; i < count; ++i) single.at<float>(i) -= 0.75f;
      cast(single, back);
      for (int64_t i = 0; i < count; ++i)
        ASSERT_EQ(back.at<int64_t>(i), static_cast<int64_t>(single.at<float>(i))) << target << i;
    };
    check(numbers);
    for (int64_t i = 0; i < size; ++i) check({numbers[static_cast<size_t>(i)]});
  });
}

TEST(Cast, any_strides) {
  for (auto [from, to] : std::vector<std::pair<uint32_t, uint32_t>>{{BP_F32, BP_F16},
                                                                    {BP_U8, BP_F64},
                                                                    {BP_F64, BP_U8},
                                                                    {BP_BF16, BP_I64},
                                                                    {BP_COMPLEX128, BP_F16},
                                                                    {BP_BOOL, BP_COMPLEX128}}) {
    for (const Sizes& shape : {Sizes{3, 5}, Sizes{40, 700}}) {
      Data a(from, shape, {1, shape[0]}), out(to, shape, {shape[1] * 2, 2});
      for (int64_t i = 0; i < a.numel(); ++i)
        set_number(a, from, i,
                   from == BP_BOOL ? static_cast<double>(i % 2) : static_cast<double>(i % 50));
      run("cast", {value(a), value(static_cast<int64_t>(to))}, {&out});
      for (int64_t i = 0; i < a.numel(); ++i)
        ASSERT_EQ(get_number(out, to, i), get_number(a, from, i)) << i;
    }
  }
}

TEST(Cast, large_results) {
  constexpr int64_t size = 5000007;
  Data a(BP_F32, {size}), out(BP_F64, {size});
  for (int64_t i = 0; i < size; ++i)
    reinterpret_cast<float*>(a.bytes())[i] = static_cast<float>(i % 1000);
  run("cast", {value(a), value(static_cast<int64_t>(BP_F64))}, {&out});
  for (int64_t i = 0; i < size; ++i)
    ASSERT_EQ(reinterpret_cast<double*>(out.bytes())[i], static_cast<double>(i % 1000));
}

// Half way between two numbers of the result's dtype, and so little beside it that float32 does not see it.
TEST(Cast, rounds_once) {
  for_each_target([](const std::string& target) {
    Data wide(BP_F64, {6}), half(BP_F16, {6}), brief(BP_BF16, {6}), tiny(BP_F8_E4M3FN, {6});
    const double ulps[] = {0x1p-10, 0x1p-7, 0x1p-3};
    Data* const outs[] = {&half, &brief, &tiny};
    for (int place = 0; place < 3; ++place) {
      const double middle = 1 + ulps[place] / 2, bit = 0x1p-52;
      const double inputs[] = {middle,        middle + bit,  middle - bit,
                               -middle - bit, -middle + bit, middle + ulps[place] - bit};
      for (int64_t i = 0; i < 6; ++i) set_number(wide, BP_F64, i, inputs[i]);
      Data& out = *outs[place];
      run("cast", {value(wide), value(static_cast<int64_t>(out.dtype()))}, {&out});
      const double up = 1 + ulps[place];
      const double wanted[] = {1, up, 1, -up, -1, up};
      for (int64_t i = 0; i < 6; ++i)
        EXPECT_EQ(get_number(out, out.dtype(), i), wanted[i]) << target << place << " " << i;
    }
    // Of integers float32 has not all either, and float64 not all of 64 bits.
    Data small(BP_I64, {3}), near(BP_BF16, {3});
    for (int64_t i = 0; i < 3; ++i) small.at<int64_t>(i) = 256 + i;
    run("cast", {value(small), value(static_cast<int64_t>(BP_BF16))}, {&near});
    for (int64_t i = 0; i < 3; ++i)
      EXPECT_EQ(get_number(near, BP_BF16, i), i == 2 ? 258 : 256) << target;
    Data whole(BP_I64, {4}), out(BP_BF16, {4});
    const int64_t middle = (int64_t{1} << 61) + (int64_t{1} << 53);
    const int64_t inputs[] = {middle, middle + 1, middle - 1, -middle - 1};
    for (int64_t i = 0; i < 4; ++i) whole.at<int64_t>(i) = inputs[i];
    run("cast", {value(whole), value(static_cast<int64_t>(BP_BF16))}, {&out});
    const double up = 0x1p61 + 0x1p54;
    const double wanted[] = {0x1p61, up, 0x1p61, -up};
    for (int64_t i = 0; i < 4; ++i)
      EXPECT_EQ(get_number(out, BP_BF16, i), wanted[i]) << target << " " << i;
  });
}

}  // namespace
}  // namespace bp_test
