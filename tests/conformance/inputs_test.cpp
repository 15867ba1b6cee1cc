// needs: cpu
// Problems made from names: layouts, values, what a kernel gets.
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <set>

#include <backplane/tensor/error.hpp>
#include <backplane/tensor/float_formats.hpp>

#include "inputs/problem.hpp"
#include "inputs/values.hpp"

namespace bp::conform {
namespace {

std::vector<float> floats_of(const Laid& laid) {
  const std::vector<unsigned char> bytes = packed_elements(laid);
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

TEST(inputs, the_same_values_lie_in_every_layout) {
  const std::vector<float> plain =
      floats_of(make_problem(read_case("core:neg[f32]/s3x5x2x4/plain/normal/call@1")).tensors[0]);
  for (const char* layout :
       {"offset", "transpose", "permute", "step2", "padded", "channels_last"}) {
    const Problem problem =
        make_problem(read_case("core:neg[f32]/s3x5x2x4/" + std::string(layout) + "/normal/call@1"));
    EXPECT_EQ(floats_of(problem.tensors[0]), plain) << layout;
    EXPECT_NE(problem.tensors[0].storage.size(), 0u);
  }
}

TEST(inputs, layouts_are_what_their_names_say) {
  const std::vector<std::int64_t> shape = {2, 3, 4, 5};
  EXPECT_TRUE(layout_flags(lay_out(f32, shape, "plain", 1)) & BP_LAYOUT_CONTIGUOUS);
  EXPECT_TRUE(layout_flags(lay_out(f32, shape, "channels_last", 1)) & BP_LAYOUT_CHANNELS_LAST);
  EXPECT_EQ(lay_out(f32, shape, "channels_last", 1).strides,
            (std::vector<std::int64_t>{60, 1, 15, 3}));
  EXPECT_EQ(layout_flags(lay_out(f32, shape, "step2", 1)), BP_LAYOUT_STRIDED);
  EXPECT_EQ(layout_flags(lay_out(f32, shape, "permute", 1)), BP_LAYOUT_STRIDED | BP_LAYOUT_DENSE);
  EXPECT_EQ(lay_out(f32, shape, "expand", 1).strides, (std::vector<std::int64_t>{0, 20, 5, 1}));
  const Laid far = lay_out(u8, {2}, "far", 1);
  EXPECT_EQ(far.sparse_bytes, (std::uint64_t{1} << 31) + 65);
  EXPECT_EQ(far.storage.size(), 2u);
}

TEST(inputs, another_seed_makes_other_values) {
  EXPECT_NE(floats_of(make_problem(read_case("core:neg[f32]/s64/plain/normal/call@1")).tensors[0]),
            floats_of(make_problem(read_case("core:neg[f32]/s64/plain/normal/call@2")).tensors[0]));
}

TEST(inputs, special_values_meet_in_all_pairs) {
  const Problem problem = make_problem(read_case("core:add[f32]/s16x16/plain/specials/call@1"));
  const std::vector<float> a = floats_of(problem.tensors[0]), b = floats_of(problem.tensors[1]);
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::size_t i = 0; i < a.size(); ++i)
    pairs.insert({std::bit_cast<std::uint32_t>(a[i]), std::bit_cast<std::uint32_t>(b[i])});
  EXPECT_EQ(pairs.size(), 256u);
}

TEST(inputs, sums_of_exact_values_are_exact_in_any_order) {
  double largest = 0;
  for (const float number : floats_of(
           make_problem(read_case("core:sum[f32]/s1024:dim=0/plain/exact/call@1")).tensors[0])) {
    EXPECT_EQ(number, std::trunc(number));
    largest = std::max(largest, std::abs(static_cast<double>(number)));
  }
  EXPECT_EQ(largest, 3);
}

TEST(inputs, all_codes_of_16_bits_are_there) {
  const Problem problem = make_problem(read_case("core:exp[f16]/s65536/plain/every16/call@1"));
  std::set<std::uint16_t> codes;
  for (std::size_t i = 0; i < problem.tensors[0].storage.size(); i += 2) {
    std::uint16_t code;
    std::memcpy(&code, problem.tensors[0].storage.data() + i, 2);
    codes.insert(code);
  }
  EXPECT_EQ(codes.size(), 65536u);
}

TEST(inputs, a_bad_index_is_one_too_high_or_below_all) {
  const auto most = [](const char* name) {
    std::int64_t least = 0, largest = 0;
    for_each_element(const_cast<Laid&>(make_problem(read_case(name)).tensors[1]),
                     [&](std::int64_t, unsigned char* at) {
                       std::int64_t index;
                       std::memcpy(&index, at, sizeof index);
                       least = std::min(least, index);
                       largest = std::max(largest, index);
                     });
    return std::pair(least, largest);
  };
  EXPECT_EQ(most("core:gather[f32]/s5x33,3x33:dim=0/plain/too_high/error@1"),
            std::pair(std::int64_t{0}, std::int64_t{5}));
  EXPECT_EQ(most("core:gather[f32]/s5x33,3x33:dim=0/plain/too_low/error@1").first, -6);
  // Nor do they count from the end.
  EXPECT_EQ(most("core:gather[f32]/s5x33,3x33:dim=0/plain/minus_one/error@1").first, -1);
  EXPECT_EQ(most("core:gather[f32]/s5x33,3x33:dim=0/plain/minus_end/error@1").first, -5);
}

TEST(inputs, late_values_have_their_extremes_at_the_end_of_each_line) {
  const std::vector<float> all = floats_of(
      make_problem(read_case("core:max[f32]/s2x66001:dim=1/plain/late/call@3")).tensors[0]);
  for (const std::size_t line : {std::size_t{0}, std::size_t{1}}) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(line * 66001), end = begin + 66001;
    EXPECT_GT(std::max_element(begin, end) - begin, 65536);
    EXPECT_GT(std::min_element(begin, end) - begin, 65536);
  }
}

// float64 -> float32 -> float16 is what a cast may not do.
TEST(inputs, midpoints_tell_one_rounding_from_two) {
  const Laid laid =
      make_problem(read_case("core:cast[f64]/s257:dtype=f16/plain/midpoints/call@5")).tensors[0];
  int told = 0;
  for (std::size_t i = 0; i < 257; ++i) {
    double value;
    std::memcpy(&value, laid.storage.data() + i * sizeof value, sizeof value);
    told += rounded_to(static_cast<float>(value), f16) != rounded_to(value, f16);
  }
  EXPECT_GE(told, 5);
}

TEST(inputs, fading_values_make_exp_denormal) {
  int denormal = 0;
  for (const float value :
       floats_of(make_problem(read_case("core:exp[f32]/s257/plain/fading/call@4")).tensors[0])) {
    const double result = std::exp(static_cast<double>(value));
    denormal += result < 0x1p-126 && result > 0x1p-149;
  }
  EXPECT_GE(denormal, 60);
}

TEST(inputs, powers_are_large_and_stay_in_range) {
  const Problem problem = make_problem(read_case("core:pow[f32]/s16x16/plain/powers/call@2"));
  const std::vector<float> a = floats_of(problem.tensors[0]), b = floats_of(problem.tensors[1]);
  float largest = 0;
  int finite = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(b[i]));
    const double power = std::pow(static_cast<double>(a[i]), static_cast<double>(b[i]));
    finite += std::isfinite(power) && std::abs(power) < 0x1p127;
  }
  EXPECT_GT(largest, 1e4f);
  EXPECT_GT(finite, 200);
}

TEST(inputs, a_kernel_gets_broadcasts_as_strides_of_zero) {
  Problem call;
  ASSERT_TRUE(
      canonical(make_problem(read_case("direct:add[f32]/s4x3x5,3x1/plain/normal/call@1")), call));
  EXPECT_EQ(call.tensors[1].shape, (std::vector<std::int64_t>{4, 3, 5}));
  EXPECT_EQ(call.tensors[1].strides, (std::vector<std::int64_t>{0, 1, 0}));
  EXPECT_EQ(call.arguments.size(), 3u);  // alpha is filled in
}

TEST(inputs, a_kernel_gets_wrapped_and_sorted_dimensions) {
  Problem call;
  ASSERT_TRUE(canonical(
      make_problem(read_case("direct:sum[f32]/s2x3x4:dim=-1x0/plain/normal/call@1")), call));
  const bp_value& dims = call.arguments[1].value;
  ASSERT_EQ(dims.aux, 2u);
  EXPECT_EQ(static_cast<const std::int64_t*>(dims.u.ptr)[0], 0);
  EXPECT_EQ(static_cast<const std::int64_t*>(dims.u.ptr)[1], 2);
}

TEST(inputs, a_kernel_gets_no_call_that_has_nothing_to_compute_or_is_cast_first) {
  Problem call;
  EXPECT_FALSE(
      canonical(make_problem(read_case("direct:add[f32]/s0x5/plain/normal/call@1")), call));
  EXPECT_FALSE(
      canonical(make_problem(read_case("direct:sum[f32]/s0x5:dim=0/plain/normal/call@1")), call));
  EXPECT_FALSE(
      canonical(make_problem(read_case("direct:sum[i32]/s3x5:dim=0/plain/normal/call@1")), call));
  EXPECT_FALSE(
      canonical(make_problem(read_case("direct:linear[f32]/s4x5,6x5/plain/normal/call@1")), call));
}

TEST(inputs, a_broken_recipe_is_refused_with_its_part) {
  const std::pair<const char*, const char*> broken[] = {
      {"core:no_row[f32]/s3/plain/normal/call@1", "no_row"},
      {"core:add[f32]/s3xq/plain/normal/call@1", "3xq"},
      {"core:add[f32]/s3/sideways/normal/call@1", "sideways"},
      {"core:add[f32]/s3/plain/odd/call@1", "odd"},
      {"core:sum[f32]/s3:dimension=1/plain/normal/call@1", "dimension"},
      {"core:conv2d[f32]/sample:none_such/own/own/call@1", "none_such"}};
  for (const auto& [name, word] : broken) {
    try {
      make_problem(read_case(name));
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace bp::conform
