// needs: cpu reference_compiler
// sort and topk on devices that compile, against the standard library's stable sort.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "codegen/agree.hpp"
#include "dispatcher/calls.hpp"

namespace bp::test {
namespace {

template <class T> bool comes_before(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  return a < b;
}

template <class T>
std::vector<std::int64_t> stable_order(const std::vector<T>& a, bool descending) {
  std::vector<std::int64_t> order(a.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
    return descending ? comes_before(a[j], a[i]) : comes_before(a[i], a[j]);
  });
  return order;
}

// Of few different values, so that most have equals; floats have NaN, infinities and both zeros.
template <class T> std::vector<T> with_duplicates(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto distinct = static_cast<std::uint32_t>(count / 3 + 2);
  std::vector<T> values(count);
  for (T& value : values) {
    const std::uint32_t draw = random() % distinct;
    value = static_cast<T>(static_cast<double>(draw) - distinct / 2.0);
    if constexpr (std::is_floating_point_v<T>) {
      const T specials[] = {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                            -std::numeric_limits<T>::infinity(), T(0), T(-0.0)};
      if (random() % 8 == 0) value = specials[random() % 5];
    }
  }
  return values;
}

class Sort : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { BP_SKIP_WITHOUT(GetParam()); }
  Device on() const { return device(GetParam()); }

  template <class T> void expect_sorts(std::size_t count, bool descending) const {
    SCOPED_TRACE(std::to_string(count) + (descending ? " descending" : " ascending"));
    const std::vector<T> numbers = with_duplicates<T>(count, static_cast<std::uint32_t>(count));
    const std::vector<std::int64_t> order = stable_order(numbers, descending);
    const Tensor a = given(numbers, {static_cast<std::int64_t>(count)}, on());
    SortResult sorted;
    expect_stays_on(GetParam(), "sort", [&] { sorted = sort(a, 0, descending); });
    EXPECT_TRUE(values<std::int64_t>(sorted.indices) == order);
    const std::vector<T> got = values<T>(sorted.values);
    for (std::size_t i = 0; i < count; ++i) {
      const T wanted = numbers[static_cast<std::size_t>(order[i])];
      ASSERT_EQ(std::memcmp(&got[i], &wanted, sizeof wanted), 0) << "element " << i;
    }
  }

  void expect_topk(const Tensor& a, std::int64_t k, std::int64_t dim, bool largest) const {
    const SortResult all = sort(a, dim, largest);
    const Tensor there = to_device(a, on());
    TopkResult top;
    expect_stays_on(GetParam(), "topk", [&] { top = topk(there, k, dim, largest); });
    expect_same(top.values, narrow(all.values, dim, 0, k));
    expect_same(top.indices, narrow(all.indices, dim, 0, k));
  }
};

constexpr std::size_t sizes[] = {0, 1, 2, 255, 256, 257, 5000, 100000};

TEST_P(Sort, row_agrees_with_cpu_in_every_dtype) {
  const Dtype every_dtype[] = {boolean, u8, i8, i16, i32, i64, u16, u32, u64, f16, bf16, f32, f64};
  expect_row_agrees("sort", GetParam(), every_dtype);
}

TEST_P(Sort, floats_are_in_the_stable_order_with_nan_last) {
  for (std::size_t size : sizes)
    for (bool descending : {false, true}) {
      expect_sorts<float>(size, descending);
      expect_sorts<double>(size, descending);
    }
}

TEST_P(Sort, integers_are_in_the_stable_order) {
  for (std::size_t size : sizes)
    for (bool descending : {false, true}) {
      expect_sorts<std::int32_t>(size, descending);
      expect_sorts<std::int64_t>(size, descending);
      expect_sorts<std::int8_t>(size, descending);
    }
}

TEST_P(Sort, extremes_of_integers_are_not_mistaken_for_signs) {
  const Tensor a = given<std::int64_t>({0, INT64_MAX, INT64_MIN, -1, 1}, {5}, on());
  EXPECT_EQ(values<std::int64_t>(sort(a).indices), (std::vector<std::int64_t>{2, 3, 0, 4, 1}));
  const Tensor b = given<std::uint64_t>({UINT64_MAX, 0, 1ull << 63}, {3}, on());
  EXPECT_EQ(values<std::int64_t>(sort(b).indices), (std::vector<std::int64_t>{1, 2, 0}));
}

TEST_P(Sort, lines_along_any_dimension_of_any_layout) {
  const Tensor numbers = given(with_duplicates<float>(4 * 100 * 9, 5), {4, 100, 9});
  const Tensor a = permute(numbers, {2, 0, 1});
  const Tensor there = permute(to_device(numbers, on()), {2, 0, 1});
  for (std::int64_t dim = 0; dim < 3; ++dim) {
    const SortResult expected = sort(a, dim, dim == 1), actual = sort(there, dim, dim == 1);
    expect_same(actual.values, expected.values);
    expect_same(actual.indices, expected.indices);
  }
}

TEST_P(Sort, many_short_lines) {
  const Tensor a = given(with_duplicates<float>(30000, 6), {10000, 3});
  const SortResult expected = sort(a), actual = sort(to_device(a, on()));
  expect_same(actual.values, expected.values);
  expect_same(actual.indices, expected.indices);
}

TEST_P(Sort, strided_outputs_are_written_in_place) {
  const Tensor a = given(with_duplicates<float>(500, 9), {5, 100});
  const SortResult expected = sort(a);
  const Tensor sorted = zeros({5, 200}, f32, on()), order = zeros({100, 5}, i64, on());
  sort_out(slice(sorted, 1, 0, 200, 2), transpose(order, 0, 1), to_device(a, on()));
  expect_same(slice(sorted, 1, 0, 200, 2), expected.values);
  expect_same(transpose(order, 0, 1), expected.indices);
  EXPECT_EQ(values(sum(slice(sorted, 1, 1, 200, 2))), std::vector<float>{0});
}

TEST_P(Sort, the_first_of_the_order_are_topk) {
  const Tensor a = given(with_duplicates<float>(7 * 3000, 7), {7, 3000});
  for (std::int64_t k : {1, 2, 31, 33, 500, 3000})
    for (bool largest : {true, false}) expect_topk(a, k, 1, largest);
  expect_topk(a, 3, 0, true);
  expect_topk(cast(a, f16), 40, 1, false);
  expect_topk(given(with_duplicates<std::int64_t>(1000, 8), {1000}), 10, 0, true);
}

INSTANTIATE_TEST_SUITE_P(on, Sort, testing::Values("reference_compiler:0", "opencl:0", "cuda:0"),
                         [](const testing::TestParamInfo<const char*>& each) {
                           const std::string name = each.param;
                           return name.substr(0, name.find(':'));
                         });

}  // namespace
}  // namespace bp::test
