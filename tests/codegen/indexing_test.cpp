// needs: cpu reference_compiler
// Rows that read and write by index, on devices that compile.
#include <numeric>

#include <backplane/dispatcher/policy.hpp>

#include "codegen/agree.hpp"
#include "dispatcher/calls.hpp"

namespace bp::test {
namespace {

constexpr Dtype every_dtype[] = {boolean, u8,        i8,         i16,       i32,    i64,
                                 u16,     u32,       u64,        f16,       bf16,   f32,
                                 f64,     complex64, complex128, f8_e4m3fn, f8_e5m2};

class Indexing : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { BP_SKIP_WITHOUT(GetParam()); }
  Device on() const { return device(GetParam()); }
  Tensor there(const Tensor& a) const { return to_device(a, on()); }
  using Shape = std::vector<std::int64_t>;

  // Whole numbers below `end` without a short period.
  template <class T> static Tensor spread(const Shape& shape, std::int64_t end) {
    std::int64_t count = 1;
    for (std::int64_t size : shape) count *= size;
    std::vector<T> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<T>(i * 7919 % static_cast<std::size_t>(end));
    return given(values, shape);
  }
  static Tensor numbers(const Shape& shape) { return spread<float>(shape, 10007); }
  static Tensor indices(const Shape& shape, std::int64_t end) {
    return spread<std::int64_t>(shape, end);
  }

  // A row that falls to its decomposition fails.
  PolicyScope whole{Rung::decomposed, Policy::forbid};
};

TEST_P(Indexing, rows_agree_with_cpu) {
  for (const char* row : {"gather", "index_select", "scatter_add", "cat"})
    expect_row_agrees(row, GetParam(), every_dtype);
  const Dtype labels[] = {i32, i64};
  expect_row_agrees("one_hot", GetParam(), labels);
}

TEST_P(Indexing, gathers_along_every_dimension_of_any_layout) {
  const Tensor a = permute(numbers({7, 5, 300}), {2, 0, 1});
  for (std::int64_t dim = 0; dim < 3; ++dim) {
    Shape shape(a.shape().begin(), a.shape().end());
    shape[static_cast<std::size_t>(dim)] = 11;
    const Tensor index = indices(shape, a.shape()[static_cast<std::size_t>(dim)]);
    expect_same(gather(there(a), dim, there(index)), gather(a, dim, index));
    const Tensor line = indices({11}, a.shape()[static_cast<std::size_t>(dim)]);
    expect_same(index_select(there(a), dim, there(cast(line, i32))), index_select(a, dim, line));
  }
}

TEST_P(Indexing, selects_whole_rows) {
  const Tensor a = numbers({50, 1000});
  const Tensor index = indices({333}, 50);
  expect_same(index_select(there(a), 0, there(index)), index_select(a, 0, index));
}

TEST_P(Indexing, strided_outputs_are_written_in_place) {
  const Tensor a = numbers({6, 40}), index = indices({6, 40}, 40);
  const Tensor out = zeros({6, 80}, f32, on());
  gather_out(slice(out, 1, 0, 80, 2), there(a), 1, there(index));
  expect_same(slice(out, 1, 0, 80, 2), gather(a, 1, index));
  EXPECT_EQ(values(sum(slice(out, 1, 1, 80, 2))), std::vector<float>{0});
}

TEST_P(Indexing, adds_duplicates_in_the_order_of_the_index) {
  // Floats whose sum depends on the order, all to few places.
  const Tensor src = mul(numbers({5000, 3}), 1.1);
  for (std::int64_t places : {1, 4, 1000}) {
    const Tensor a = ones({places, 3});
    const Tensor index = indices({5000, 3}, places);
    const Tensor first = scatter_add(there(a), 0, there(index), there(src));
    expect_same(first, scatter_add(a, 0, index, src));
    expect_same(first, scatter_add(there(a), 0, there(index), there(src)));
  }
}

TEST_P(Indexing, a_single_long_line_is_divided_among_work_items) {
  const Tensor src = numbers({100000}), index = indices({100000}, 777);
  const Tensor a = zeros({777});
  expect_same(scatter_add(there(a), 0, there(index), there(src)), scatter_add(a, 0, index, src));
}

TEST_P(Indexing, joins_many_tensors_of_any_layout) {
  std::vector<Tensor> here, on_device;
  for (std::int64_t i = 1; i <= 70; ++i) {
    here.push_back(i % 3 == 0 ? transpose(numbers({i, 6}), 0, 1) : numbers({6, i}));
    on_device.push_back(i % 3 == 0 ? transpose(there(numbers({i, 6})), 0, 1) : there(here.back()));
  }
  expect_same(cat(on_device, 1), cat(here, 1));
}

// ---- Indices outside of the tensor ----

class BadIndex : public Indexing {
 protected:
  // The call, and what comes of it until the device is done.
  template <class F> std::string error_in(F&& call) const {
    return error_of([&] {
      call();
      synchronize(on());
    });
  }
  void expect_gather_works() const {
    const Tensor a = numbers({20}), index = indices({5}, 20);
    expect_same(gather(there(a), 0, there(index)), gather(a, 0, index));
    synchronize(on());
  }
};

TEST_P(BadIndex, is_an_error_that_names_the_operator_and_the_next_call_works) {
  const Tensor a = there(numbers({4, 6}));
  for (std::int64_t bad : {std::int64_t{6}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
    const Tensor index = there(given<std::int64_t>({0, bad, 5}, {1, 3}));
    EXPECT_EQ(error_in([&] { gather(a, 1, index); }).substr(0, 27), "gather: index out of range ");
    expect_gather_works();
    const Tensor line = reshape(index, {3});
    EXPECT_EQ(error_in([&] { index_select(a, 1, line); }).substr(0, 33),
              "index_select: index out of range ");
    expect_gather_works();
    const Tensor src = there(ones({1, 3}));
    EXPECT_EQ(error_in([&] { scatter_add(a, 1, index, src); }).substr(0, 32),
              "scatter_add: index out of range ");
    expect_gather_works();
    EXPECT_EQ(error_in([&] { one_hot(line, 6); }).substr(0, 28), "one_hot: index out of range ");
    expect_gather_works();
  }
}

TEST_P(BadIndex, of_int32_is_found_as_well) {
  const Tensor index = there(given<std::int32_t>({0, -1}, {2}));
  EXPECT_EQ(error_in([&] { index_select(there(numbers({4})), 0, index); }).substr(0, 33),
            "index_select: index out of range ");
  expect_gather_works();
}

std::string device_name(const testing::TestParamInfo<const char*>& each) {
  const std::string name = each.param;
  return name.substr(0, name.find(':'));
}
INSTANTIATE_TEST_SUITE_P(on, Indexing, testing::ValuesIn(compiling_devices), device_name);
INSTANTIATE_TEST_SUITE_P(on, BadIndex, testing::ValuesIn(compiling_devices), device_name);

}  // namespace
}  // namespace bp::test
