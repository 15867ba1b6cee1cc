// needs: cpu cuda
// sort on the card: short lines by blocks, long ones by radix sorts of keys with and without the line's number, in every
// dtype exactly as cpu.
#include "backends/cuda/native.hpp"

namespace bp::test {
namespace {

class Sorting : public NativeKernels {
 protected:
  // Few different values, so that order among equals shows.
  static Tensor repeating(const std::vector<std::int64_t>& shape, Dtype dtype = f32) {
    return cast(sub(randint(0, 100, shape, i32, host_device()), 50), dtype);
  }

  void expect_sorted(const Tensor& a, std::int64_t dim = -1) { expect_sorted(there(a), a, dim); }
  void expect_sorted(const Tensor& on_card, const Tensor& a, std::int64_t dim) {
    for (bool descending : {false, true}) {
      SCOPED_TRACE(to_string(a.shape()) + " of " + std::string(bp::name(a.dtype())) + " along " +
                   std::to_string(dim) + (descending ? ", descending" : ""));
      const SortResult expected = sort(a, dim, descending);
      const SortResult actual = sort(on_card, dim, descending);
      expect_same(here(actual.values), expected.values);
      expect_same(here(actual.indices), expected.indices);
    }
  }
};

constexpr Dtype every_dtype[] = {boolean, u8,  i8,  i16, i32,  i64, u16,
                                 u32,     u64, f16, f32, bf16, f64};

TEST_F(Sorting, short_lines_in_every_dtype) {
  for (Dtype dtype : every_dtype) expect_sorted(repeating({9, 300}, dtype));
}

TEST_F(Sorting, long_lines_in_every_dtype) {
  for (Dtype dtype : every_dtype) {
    expect_sorted(repeating({20000}, dtype));
    expect_sorted(repeating({3, 5000}, dtype));
  }
}

TEST_F(Sorting, at_the_edges_between_the_ways) {
  for (std::int64_t length : {1, 2, 31, 32, 33, 511, 512, 513, 4095, 4096, 4097})
    for (std::int64_t lines : {1, 2, 65}) expect_sorted(randn({lines, length}, f32, host_device()));
}

TEST_F(Sorting, is_served_by_the_library) {
  const Served served("sort", "cuda");
  sort(there(repeating({100000})), 0);
  sort(there(repeating({100, 1000})), 1);
  sort(there(repeating({100, 10000}, f64)), 1);
  expect_served(served, "native 3");
}

TEST_F(Sorting, nan_is_last_zeros_are_equal_and_every_bit_stays) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  std::vector<float> numbers;
  for (int i = 0; i < 1000; ++i)
    for (float number : {0.0f, -0.0f, nan, -nan, infinity, -infinity, 1.0f, -1.0f, 1e-45f, -1e-45f})
      numbers.push_back(number);
  const Tensor a = given(numbers);
  for (Dtype dtype : {f32, f64, f16, bf16}) {
    expect_sorted(cast(a, dtype));
    expect_sorted(narrow(cast(a, dtype), 0, 0, 700));
  }
}

TEST_F(Sorting, extremes_of_integers) {
  expect_sorted(given<std::int64_t>({0, INT64_MAX, INT64_MIN, -1, 1}, {5}));
  expect_sorted(given<std::uint64_t>({UINT64_MAX, 0, 1ull << 63}, {3}));
  expect_sorted(given<std::int32_t>({INT32_MAX, INT32_MIN, 0, -1}, {4}));
}

TEST_F(Sorting, along_any_dimension_of_any_layout) {
  const Tensor a = repeating({40, 50, 60});
  const Tensor on_card = there(a);
  for (std::int64_t dim : {0, 1, 2}) {
    expect_sorted(on_card, a, dim);
    expect_sorted(permute(on_card, {2, 0, 1}), permute(a, {2, 0, 1}), dim);
    expect_sorted(slice(on_card, 1, 0, 50, 2), slice(a, 1, 0, 50, 2), dim);
  }
  const Tensor wide = repeating({6000, 3});
  expect_sorted(there(wide), wide, 0);
}

TEST_F(Sorting, more_lines_than_blocks) {
  expect_sorted(repeating({40000, 33}, i16));
}

}  // namespace
}  // namespace bp::test
