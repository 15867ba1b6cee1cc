// needs: cpu
// sort against std::stable_sort, on both sides of the size where radix sort begins.
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "constants.hpp"
#include "direct_call.hpp"

namespace {

using namespace bp_test;

template <class T> bool less(T a, T b) {  // NaN is the largest
  if (a != a) return false;
  return b != b || a < b;
}

template <class T> void expect_sorted(std::vector<T> from, uint32_t dtype, bool descending) {
  const auto count = static_cast<int64_t>(from.size());
  Data a = Data::of<T>(dtype, {count}, from);
  Data values(dtype, {count});
  Data indices(BP_I64, {count});
  run("sort", {value(a), value(0), value(descending), value(true)}, {&values, &indices});
  std::vector<int64_t> order(from.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return descending ? less(from[j], from[i]) : less(from[i], from[j]);
  });
  EXPECT_EQ(indices.values<int64_t>(), order) << dtype;
  for (int64_t i = 0; i < count; ++i) {
    const T expected = from[order[i]];
    const T actual = values.at<T>(i);
    ASSERT_EQ(std::memcmp(&expected, &actual, sizeof(T)), 0) << i;
  }
}

template <class T> std::vector<T> some_numbers(int64_t count) {
  std::vector<T> numbers;
  uint64_t state = 12345;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    if constexpr (std::is_floating_point_v<T>) {
      numbers.push_back(static_cast<T>(static_cast<int64_t>(state >> 40) - (1 << 23)) / 64);
    } else {
      numbers.push_back(static_cast<T>(state >> 33));
    }
  }
  return numbers;
}

// The first `k` are those of a sort: of equal ones the first, and NaN the largest.
template <class T> void expect_first(const std::vector<T>& from, uint32_t dtype) {
  const auto count = static_cast<int64_t>(from.size());
  Data a = Data::of<T>(dtype, {count}, from), values(dtype, {count}), indices(BP_I64, {count});
  for (bool largest : {false, true}) {
    run("sort", {value(a), value(0), value(largest), value(true)}, {&values, &indices});
    for (int64_t k : {1, 2, 10, 15, 16, 17, 24, 64, 65}) {
      if (k > count) continue;
      Data first(dtype, {k}), where(BP_I64, {k});
      run("topk", {value(a), value(k), value(0), value(largest), value(true)}, {&first, &where});
      for (int64_t i = 0; i < k; ++i) {
        ASSERT_EQ(where.at<int64_t>(i), indices.at<int64_t>(i))
            << k << " of " << count << ", " << i;
        const T got = first.at<T>(i), expected = values.at<T>(i);
        ASSERT_EQ(std::memcmp(&got, &expected, sizeof(T)), 0) << k << " of " << count << ", " << i;
      }
    }
  }
}

TEST(CpuSort, topk_has_the_first_of_a_sort) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              inf = std::numeric_limits<float>::infinity();
  const std::vector<float> special{nan, 1, -0.0f, inf, 0.0f, -inf, -nan, -1, 2, 1e-40f};
  for (int64_t count : {1, 3, 30, 40, 47, 48, 49, 300, 1000}) {
    expect_first(some_numbers<float>(count), BP_F32);
    expect_first(some_numbers<double>(count), BP_F64);
    expect_first(some_numbers<int64_t>(count), BP_I64);
    std::vector<int8_t> few = some_numbers<int8_t>(count);  // with many that are equal
    for (int8_t& each : few) each = static_cast<int8_t>(each % 5);
    expect_first(few, BP_I8);
    for (size_t every : {2, 7, 100}) {
      std::vector<float> some = some_numbers<float>(count);
      for (size_t i = 0; i < some.size(); i += every) some[i] = special[i / every % special.size()];
      expect_first(some, BP_F32);
    }
  }
}

// Most keys lie close together and a few far away, so that bins by the uppermost bits differ much in size.
TEST(CpuSort, sorts_keys_that_lie_in_heaps) {
  for (int64_t count : {300, 3000, 20000, 200000}) {
    std::vector<int64_t> numbers = some_numbers<int64_t>(count);
    for (int64_t i = 0; i < count; ++i)
      numbers[i] = i % 50 == 0  ? numbers[i] << 31
                   : i % 3 == 0 ? numbers[i] & 0xff
                                : numbers[i] >> 8;
    for (bool descending : {false, true}) expect_sorted(numbers, BP_I64, descending);
  }
}

// A line so long that threads put parts of it into bins together, with many keys that are equal, which stay in order.
TEST(CpuSort, sorts_long_lines_alike_with_any_number_of_threads) {
  constexpr int64_t count = 5 * bp::cpu::constants::entries_of_part + 77;
  std::vector<int64_t> wide = some_numbers<int64_t>(count);
  std::vector<float> repeated = some_numbers<float>(count);
  for (size_t i = 0; i < repeated.size(); ++i) repeated[i] = repeated[i % 5000];
  for (const uint32_t threads : {1u, 2u, 3u, 8u}) {
    CpuPlugin::get().set_num_threads(threads);
    expect_sorted(wide, BP_I64, threads % 2 == 0);
    expect_sorted(repeated, BP_F32, threads % 2 != 0);
  }
  CpuPlugin::get().set_num_threads(2);
}

TEST(CpuSort, sorts_every_real_dtype_both_ways) {
  for (int64_t count : {1, 5, 128, 200, 3000, 20000}) {
    for (bool descending : {false, true}) {
      expect_sorted(some_numbers<float>(count), BP_F32, descending);
      expect_sorted(some_numbers<double>(count), BP_F64, descending);
      expect_sorted(some_numbers<int8_t>(count), BP_I8, descending);
      expect_sorted(some_numbers<uint8_t>(count), BP_U8, descending);
      expect_sorted(some_numbers<int16_t>(count), BP_I16, descending);
      expect_sorted(some_numbers<int32_t>(count), BP_I32, descending);
      expect_sorted(some_numbers<int64_t>(count), BP_I64, descending);
      expect_sorted(some_numbers<uint64_t>(count), BP_U64, descending);
    }
  }
}

TEST(CpuSort, puts_nan_last_ascending_and_first_descending_and_keeps_zeros_in_order) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> numbers{nan, 1, -0.0f, inf, 0.0f, -inf, -nan, -1, 0.0f, -0.0f};
  for (bool descending : {false, true}) {
    expect_sorted(numbers, BP_F32, descending);
    std::vector<float> many;
    for (int i = 0; i < 50; ++i) many.insert(many.end(), numbers.begin(), numbers.end());
    expect_sorted(many, BP_F32, descending);
  }
}

TEST(CpuSort, sorts_halves_and_bools) {
  // 1, -2, NaN, 0, -0, 0.5 in f16 and bf16.
  for (const auto& [dtype, bits] : std::vector<std::pair<uint32_t, std::vector<uint16_t>>>{
           {BP_F16, {0x3c00, 0xc000, 0x7e00, 0x0000, 0x8000, 0x3800}},
           {BP_BF16, {0x3f80, 0xc000, 0x7fc0, 0x0000, 0x8000, 0x3f00}}}) {
    Data a = Data::of<uint16_t>(dtype, {6}, bits);
    Data values(dtype, {6});
    Data indices(BP_I64, {6});
    run("sort", {value(a), value(0), value(false), value(true)}, {&values, &indices});
    EXPECT_EQ(indices.values<int64_t>(), (std::vector<int64_t>{1, 3, 4, 5, 0, 2}));
  }
  Data flags = Data::of<uint8_t>(BP_BOOL, {4}, {1, 0, 1, 0});
  Data values(BP_BOOL, {4});
  Data indices(BP_I64, {4});
  run("sort", {value(flags), value(0), value(true), value(true)}, {&values, &indices});
  EXPECT_EQ(indices.values<int64_t>(), (std::vector<int64_t>{0, 2, 1, 3}));
}

TEST(CpuSort, sorts_many_rows_along_any_dimension) {
  for (int64_t dim : {0, 1, 2}) {
    Data a(BP_F32, {60, 70, 80});
    const std::vector<float> numbers = some_numbers<float>(a.numel());
    for (int64_t i = 0; i < a.numel(); ++i) a.at<float>(i) = numbers[i];
    Data values(BP_F32, a.shape());
    Data indices(BP_I64, a.shape());
    run("sort", {value(a), value(dim), value(false), value(true)}, {&values, &indices});
    const Sizes strides{5600, 80, 1};
    const int64_t step = strides[dim];
    for (int64_t i = 0; i < a.numel(); ++i) {
      const int64_t at = i / step % a.shape()[dim];
      if (at > 0) {
        ASSERT_LE(values.at<float>(i - step), values.at<float>(i));
      }
      const int64_t from = i + (indices.at<int64_t>(i) - at) * step;
      ASSERT_EQ(values.at<float>(i), a.at<float>(from));
    }
  }
}

TEST(CpuSort, reads_and_writes_strided_tensors) {
  Data a = Data::of<int32_t>(BP_I32, {2, 3}, {3, 1, 2, 9, 7, 8}).permuted({1, 0});
  Data values = Data(BP_I32, {2, 3}).permuted({1, 0});
  Data indices(BP_I64, {3, 2});
  run("sort", {value(a), value(0), value(false), value(true)}, {&values, &indices});
  EXPECT_EQ(values.values<int32_t>(), (std::vector<int32_t>{1, 7, 2, 8, 3, 9}));
  EXPECT_EQ(indices.values<int64_t>(), (std::vector<int64_t>{1, 1, 2, 2, 0, 0}));
}

TEST(CpuSort, a_scalar_is_sorted) {
  Data a = Data::of<float>(BP_F32, {}, {4});
  Data values(BP_F32, {});
  Data indices(BP_I64, {});
  run("sort", {value(a), value(0), value(false), value(true)}, {&values, &indices});
  EXPECT_EQ(values.at<float>(0), 4);
  EXPECT_EQ(indices.at<int64_t>(0), 0);
}

}  // namespace
