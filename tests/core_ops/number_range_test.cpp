// needs: cpu
// Numbers that a dtype does not hold: refused, wrapped or clamped, by what the operator is, and never silently another.
#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

#include <backplane/tensor/number_range.hpp>
#include <backplane/tensors.hpp>

#include "core_ops/rows.hpp"

namespace bp {
namespace {

__extension__ using Wide = __int128;

constexpr Dtype integers[] = {u8, i8, i16, i32, i64, u16, u32, u64};

Wide least(Dtype dtype) {
  const bool is_signed = contains(set_of(i8, i16, i32, i64), dtype);
  return is_signed ? -(Wide{1} << (8 * itemsize(dtype) - 1)) : 0;
}
Wide most(Dtype dtype) {
  return least(dtype) + (Wide{1} << 8 * itemsize(dtype)) - 1;
}

// Exactly, whatever integers a tensor has.
std::vector<Wide> wide_values(const Tensor& a) {
  std::vector<Wide> values;
  if (a.dtype() == u64)
    for (std::uint64_t value : to_vector<std::uint64_t>(a)) values.push_back(value);
  else
    for (std::int64_t value : to_vector<std::int64_t>(to(a, i64))) values.push_back(value);
  return values;
}

// Both ends of the dtype, and some between.
Tensor numbers_of(Dtype dtype) {
  std::vector<std::uint64_t> bits = {0, 1, 7, 100, 127, 128, 200, 255, ~std::uint64_t{0}};
  bits.push_back(static_cast<std::uint64_t>(most(dtype)));
  bits.push_back(static_cast<std::uint64_t>(least(dtype)));
  return to(tensor(bits), dtype);
}

std::string misfit_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.error_class(), ErrorClass::bad_argument) << error.what();
    return error.what();
  }
  return "no error";
}

constexpr std::int64_t bounds[] = {-5,
                                   0,
                                   1,
                                   127,
                                   128,
                                   300,
                                   -129,
                                   70000,
                                   -40000,
                                   std::int64_t{1} << 31,
                                   INT64_MAX,
                                   INT64_MIN,
                                   std::int64_t{1} << 32,
                                   -(std::int64_t{1} << 33)};

// As if all were computed in integers of any size, and the result were the nearest of the dtype.
TEST(NumberRange, clamp_is_that_of_wide_numbers) {
  for (const Dtype dtype : integers) {
    const Tensor a = numbers_of(dtype);
    const std::vector<Wide> values = wide_values(a);
    const auto expect = [&](const Tensor& got, auto&& wanted, std::int64_t low, std::int64_t high) {
      ASSERT_EQ(got.dtype(), dtype);
      const std::vector<Wide> found = wide_values(got);
      for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_TRUE(found[i] == std::clamp(wanted(values[i]), least(dtype), most(dtype)))
            << name(dtype) << " " << i << " " << low << " " << high;
    };
    for (const std::int64_t low : bounds) {
      expect(
          clamp_min(a, low), [&](Wide x) { return std::max<Wide>(x, low); }, low, 0);
      expect(
          clamp_max(a, low), [&](Wide x) { return std::min<Wide>(x, low); }, 0, low);
      for (const std::int64_t high : bounds)
        expect(
            clamp(a, low, high),
            [&](Wide x) { return std::min<Wide>(std::max<Wide>(x, low), high); }, low, high);
    }
    Tensor copied = clone(a);
    clamp_(copied, -5, 300);
    expect(
        copied, [&](Wide x) { return std::min<Wide>(std::max<Wide>(x, -5), 300); }, -5, 300);
  }
  const Tensor large = numbers_of(u64);
  EXPECT_EQ(to_vector<std::uint64_t>(clamp(large, 0, UINT64_MAX)), to_vector<std::uint64_t>(large));
}

TEST(NumberRange, an_element_is_refused_that_the_dtype_does_not_hold) {
  const Tensor a = zeros({3}, u8), yes = ones({3}, boolean), index = zeros({1}, i64);
  EXPECT_EQ(misfit_of([&] { full({2}, 300, u8); }),
            "full: 'fill_value' is 300, which uint8 does not hold (from 0 to 255); pass another "
            "number, or take another dtype");
  EXPECT_EQ(misfit_of([&] { full({2}, -256, u8); }),
            "full: 'fill_value' is -256, which uint8 does not hold (from 0 to 255); pass another "
            "number, or take another dtype");
  EXPECT_EQ(
      misfit_of([&] { where(yes, a, 300); }),
      "where: 'other' is 300, which uint8 does not hold (from 0 to 255); pass another number, or "
      "take another dtype");
  const char* const about_300 = "300, which uint8 does not hold";
  const std::pair<const char*, std::function<void()>> calls[] = {
      {"full_like: ", [&] { full_like(a, 300); }},
      {"fill_: ", [&] { fill_(a, 300); }},
      {"scatter: ", [&] { scatter(a, 0, index, 300); }},
      {"pad: ",
       [&] {
         pad(a, {1, 1}, "constant", 300);
       }},
      {"constant_pad_nd: ",
       [&] {
         constant_pad_nd(a, {1, 1}, 300);
       }},
      {"where: ", [&] { where(yes, 300, a); }},
      {"pow: ", [&] { pow(a, 300); }},
      {"tensor: ",
       [&] {
         tensor({1, 300}, {.dtype = u8});
       }},
      {"randint: ", [&] { randint(0, 301, {2}, u8); }},
      {"arange: ", [&] { arange(300, 301, 1, u8); }},
      {"arange: ", [&] { arange(0, 301, 1, u8); }},
  };
  for (const auto& [op, call] : calls) {
    const std::string said = misfit_of(call);
    EXPECT_EQ(said.find(op), 0u) << said;
    EXPECT_NE(said.find(about_300), std::string::npos) << said;
  }
  EXPECT_EQ(to_vector<std::uint8_t>(a), (std::vector<std::uint8_t>{0, 0, 0}));
}

TEST(NumberRange, each_dtype_takes_its_own_numbers_and_no_others) {
  for (const Dtype dtype : integers) {
    if (dtype == u64) continue;  // below
    const auto low = static_cast<std::int64_t>(least(dtype));
    const auto high = static_cast<std::int64_t>(most(dtype));
    EXPECT_EQ(item<std::int64_t>(to(full({}, low, dtype), i64)), low) << name(dtype);
    EXPECT_EQ(item<std::int64_t>(to(full({}, high, dtype), i64)), high) << name(dtype);
    if (dtype == i64) continue;
    EXPECT_NE(misfit_of([&] { full({}, low == 0 ? -high - 1 : low - 1, dtype); }), "no error")
        << name(dtype);
    EXPECT_NE(misfit_of([&] { full({}, high + 1, dtype); }), "no error") << name(dtype);
  }
  EXPECT_EQ(item<std::uint64_t>(full({}, UINT64_MAX, u64)), UINT64_MAX);
  EXPECT_EQ(item<std::uint64_t>(full({}, 0x1p63, u64)), std::uint64_t{1} << 63);
  EXPECT_NE(misfit_of([] { full({}, 0x1p64, u64); }), "no error");
  EXPECT_NE(misfit_of([] { full({}, UINT64_MAX, i64); }), "no error");
  EXPECT_NE(misfit_of([] { full({}, 0x1p63, i64); }), "no error");
  EXPECT_EQ(item<float>(full({}, UINT64_MAX, f32)), 0x1p64f);
}

// As in PyTorch.
TEST(NumberRange, a_negative_element_counts_from_the_top_of_unsigned_dtypes) {
  using Bytes = std::vector<std::uint8_t>;
  const Tensor a = zeros({2}, u8), first = tensor({true, false}), index = zeros({1}, i64);
  EXPECT_EQ(to_vector<std::uint8_t>(full({2}, -1, u8)), (Bytes{255, 255}));
  EXPECT_EQ(to_vector<std::uint8_t>(full({1}, -255, u8)), (Bytes{1}));
  EXPECT_EQ(item<std::uint64_t>(full({}, -1, u64)), UINT64_MAX);
  EXPECT_EQ(to_vector<std::uint8_t>(tensor({-1, 2}, {.dtype = u8})), (Bytes{255, 2}));
  EXPECT_EQ(to_vector<std::uint8_t>(arange(-2, 1, 1, u8)), (Bytes{254, 255, 0}));
  EXPECT_EQ(to_vector<std::uint8_t>(where(first, -1, a)), (Bytes{255, 0}));
  EXPECT_EQ(to_vector<std::uint8_t>(scatter(a, 0, index, -1)), (Bytes{255, 0}));
  EXPECT_EQ(to_vector<std::uint8_t>(fill_(a, -2)), (Bytes{254, 254}));
  for (const double real : {-1.0, -1.5})
    EXPECT_NE(misfit_of([&] { full({}, real, u8); }), "no error") << real;
}

TEST(NumberRange, real_numbers_lose_their_fraction_but_not_their_meaning) {
  EXPECT_EQ(item<int>(full({}, 3.7, i64)), 3);
  EXPECT_EQ(item<int>(full({}, -0.5, u8)), 0);
  EXPECT_EQ(item<int>(full({}, 255.9, u8)), 255);
  for (const double wrong : {256.0, -1.0, double{NAN}, double{INFINITY}, 1e300})
    EXPECT_NE(misfit_of([&] { full({}, wrong, u8); }), "no error") << wrong;
  EXPECT_TRUE(item<bool>(full({}, 300, boolean)));
  EXPECT_TRUE(item<bool>(full({}, std::complex<double>(2, 0), boolean)));
  EXPECT_EQ(item<float>(full({}, 65504, f16)), 65504);
  EXPECT_NE(misfit_of([] { full({}, 65505, f16); }), "no error");
  EXPECT_NE(misfit_of([] { full({}, 1e300, f32); }), "no error");
  EXPECT_NE(misfit_of([] { full({}, std::complex<double>(1, 1), f32); }), "no error");
  EXPECT_EQ(item<float>(full({}, INFINITY, f16)), INFINITY);
  EXPECT_TRUE(std::isnan(item<float>(full({}, NAN, bf16))));
}

TEST(NumberRange, sums_and_products_wrap_as_their_results_do) {
  const Tensor a = tensor({1, 2, 200}, {.dtype = u8});
  using Bytes = std::vector<std::uint8_t>;
  EXPECT_EQ(to_vector<std::uint8_t>(a + 300), (Bytes{45, 46, 244}));
  EXPECT_EQ(to_vector<std::uint8_t>(a - 1), (Bytes{0, 1, 199}));
  EXPECT_EQ(to_vector<std::uint8_t>(a + -1), (Bytes{0, 1, 199}));
  EXPECT_EQ(to_vector<std::uint8_t>(a * 257), (Bytes{1, 2, 200}));
  EXPECT_EQ(to_vector<std::uint8_t>(bitwise_and(a, 0x1ff)), (Bytes{1, 2, 200}));
  EXPECT_EQ(to_vector<std::uint8_t>(bitwise_xor(a, -1)), (Bytes{254, 253, 55}));
}

TEST(NumberRange, odds_of_whole_numbers_do_not_wrap) {
  for (const Dtype dtype : integers) {
    const Tensor odds = logit(to(tensor(std::vector<std::int64_t>{0, 1, 5}), dtype));
    EXPECT_EQ(odds.dtype(), f32) << name(dtype);
    EXPECT_EQ(item<float>(select(odds, 0, 0)), -INFINITY) << name(dtype);
    EXPECT_EQ(item<float>(select(odds, 0, 1)), INFINITY) << name(dtype);
    EXPECT_TRUE(std::isnan(item<float>(select(odds, 0, 2)))) << name(dtype);
  }
}

TEST(NumberRange, comparisons_are_those_of_wide_numbers) {
  for (const Dtype dtype : integers) {
    const Tensor a = numbers_of(dtype);
    const std::vector<Wide> values = wide_values(a);
    for (const std::int64_t number : bounds) {
      if (dtype == u64 && number < 0) continue;  // refused
      const std::pair<Tensor, std::function<bool(Wide)>> all[] = {
          {lt(a, number), [&](Wide x) { return x < number; }},
          {le(a, number), [&](Wide x) { return x <= number; }},
          {gt(a, number), [&](Wide x) { return x > number; }},
          {ge(a, number), [&](Wide x) { return x >= number; }},
          {eq(a, number), [&](Wide x) { return x == number; }},
          {ne(number, a), [&](Wide x) { return x != number; }}};
      for (const auto& [got, wanted] : all)
        for (std::size_t i = 0; i < values.size(); ++i)
          ASSERT_EQ(wide_values(got)[i] != 0, wanted(values[i])) << name(dtype) << " " << number;
    }
  }
  EXPECT_NE(misfit_of([] { lt(ones({2}, u64), -1); }), "no error");
}

TEST(NumberRange, extrema_are_clamped_as_bounds_are) {
  const Tensor a = tensor({1, 200}, {.dtype = u8});
  EXPECT_EQ(to_vector<std::uint8_t>(minimum(a, 300)), (std::vector<std::uint8_t>{1, 200}));
  EXPECT_EQ(to_vector<std::uint8_t>(maximum(a, -5)), (std::vector<std::uint8_t>{1, 200}));
  EXPECT_EQ(to_vector<std::uint8_t>(maximum(a, 300)), (std::vector<std::uint8_t>{255, 255}));
}

// PyTorch's too: a mask of -1e9 is a common one.
TEST(NumberRange, floating_dtypes_take_infinity_for_what_is_beyond) {
  const Tensor a = ones({1}, f16), no = zeros({1}, boolean);
  EXPECT_EQ(item<float>(where(no, a, -1e9)), -INFINITY);
  EXPECT_TRUE(item<bool>(lt(a, 1e9)));
}

// The shortest path asks as well.
TEST(NumberRange, a_boxed_call_refuses_the_same) {
  const Tensor a = tensor({1, 2}, {.dtype = u8});
  const auto power = [&](std::int64_t number) {
    return call_boxed("pow", {value_of(a), value_of(number)})[0];
  };
  EXPECT_EQ(to_vector<std::uint8_t>(power(3)), (std::vector<std::uint8_t>{1, 8}));
  EXPECT_NE(misfit_of([&] { power(257); }), "no error");
  EXPECT_NE(misfit_of([&] { power(-1); }), "no error");
}

}  // namespace
}  // namespace bp
