// needs: cpu reference_compiler once
// Scans on devices that compile.
#include <fmt/format.h>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/registry.hpp>

#include "codegen/along_dims.hpp"

namespace bp::test {
namespace {

class Scan : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { BP_SKIP_WITHOUT(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(all, Scan, testing::ValuesIn(compiling_devices), device_test_name);

TEST_P(Scan, agrees_with_cpu_in_every_dtype) {
  expect_row_agrees("cumsum", GetParam(), dtypes_for(GetParam()));
}

TEST_P(Scan, takes_any_layout_and_any_dimension) {
  std::mt19937 random(13);
  for (int i = 0; i < 150; ++i) {
    const Dtype dtype = std::array{f32, bf16, i64, f64, complex64}[random() % 5];
    const Twin a = any_layout(dtype, GetParam(), random);
    const auto dim = static_cast<std::int64_t>(random()) % a.host.ndim();
    const std::string what =
        fmt::format("{}: {} {} strides {} along {}", i, name(dtype), to_string(a.host.shape()),
                    to_string(a.host.strides()), dim);
    expect_stays_on(GetParam(), what, [&] {
      expect_agrees(cumsum(a.device, dim), cumsum(a.host, dim), "exact", what, false);
    });
  }
}

TEST_P(Scan, cuts_long_lines_and_gives_the_same_bits_twice) {
  std::mt19937 random(14);
  for (const Dims& shape : {Dims{300001}, Dims{3, 100003}, Dims{100003, 3}, Dims{70001, 40}}) {
    const Twin a = twin(fractions(shape, random), GetParam());
    for (std::int64_t dim = 0; dim < a.host.ndim(); ++dim) {
      const std::string what = fmt::format("{} along {}", to_string(IntList(shape)), dim);
      const Tensor first = cumsum(a.device, dim);
      expect_agrees(first, cumsum(a.host, dim), "accumulation", what);
      expect_agrees(cumsum(a.device, dim), first, "exact", what);
    }
  }
}

// A row of the application: no kernel is written for it.
Operator& running_product() {
  static constexpr bp_expr_node steps[] = {
      {BP_X_ACC, 0, 0, 0, 0}, {BP_X_ARG, 0, 0, 0, 0}, {BP_X_MUL, 0, 1, 0, 0}};
  static Operator row{
      .schema_text = "test::cumprod(Tensor input, int dim, *, Dtype? dtype=None) -> Tensor",
      .kind = BP_KIND_SCAN,
      .dtypes = dtypes::numeric,
      .promoted = 0b1,
      .infer = find_operator("cumsum")->infer,
      .nodes = steps,
      .num_nodes = 3,
      .initial = 1,
  };
  if (!row.registered) register_operator(row);
  return row;
}

TEST_P(Scan, computes_a_row_that_was_registered_now) {
  std::vector<double> values(90000, 1), expected;
  for (std::size_t i = 0; i < values.size(); i += 1000) values[i] = i % 3000 ? 2 : -0.5;
  for (double value : values)
    expected.push_back(expected.empty() ? value : expected.back() * value);
  const Tensor a = to(tensor(values), device(GetParam()));
  expect_stays_on(GetParam(), "cumprod", [&] {
    const bp_value args[] = {value_of(a), value_of(std::int64_t{0})};
    EXPECT_EQ(to_vector<double>(call_boxed(running_product(), args).at(0)), expected);
  });
}

}  // namespace
}  // namespace bp::test
