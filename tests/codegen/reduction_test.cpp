// needs: cpu reference_compiler once
// Reductions and argmax on devices that compile.
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/registry.hpp>

#include "codegen/along_dims.hpp"

namespace bp::test {
namespace {

using Row = std::tuple<const char*, const char*>;

class ReductionRow : public testing::TestWithParam<Row> {};

TEST_P(ReductionRow, agrees_with_cpu_in_every_dtype) {
  const auto [device, op] = GetParam();
  BP_SKIP_WITHOUT(device);
  expect_row_agrees(op, device, dtypes_for(device));
}

INSTANTIATE_TEST_SUITE_P(all, ReductionRow,
                         testing::Combine(testing::ValuesIn(compiling_devices),
                                          testing::Values("sum", "mean", "max", "min", "argmax")),
                         [](const testing::TestParamInfo<Row>& each) {
                           const std::string device = std::get<0>(each.param);
                           return device.substr(0, device.find(':')) + "_" +
                                  std::get<1>(each.param);
                         });

class Reduction : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { BP_SKIP_WITHOUT(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(all, Reduction, testing::ValuesIn(compiling_devices), device_test_name);

std::vector<std::int64_t> some_dims(std::int64_t rank, std::mt19937& random) {
  std::vector<std::int64_t> dims;
  for (std::int64_t dim = 0; dim < rank; ++dim)
    if (random() % 2) dims.push_back(dim);
  if (dims.empty()) dims.push_back(static_cast<std::int64_t>(random()) % rank);
  return dims;
}

TEST_P(Reduction, takes_any_layout_and_any_dimensions) {
  std::mt19937 random(7);
  for (int i = 0; i < 150; ++i) {
    const Dtype dtype = std::array{f32, bf16, i64, f64, complex64}[random() % 5];
    const Twin a = any_layout(dtype, GetParam(), random);
    const auto dims = some_dims(a.host.ndim(), random);
    const bool keepdim = random() % 2;
    const std::string what =
        fmt::format("{}: {} {} strides {} over {}", i, name(dtype), to_string(a.host.shape()),
                    to_string(a.host.strides()), to_string(IntList(dims)));
    expect_stays_on(GetParam(), what, [&] {
      expect_agrees(sum(a.device, dims, keepdim), sum(a.host, dims, keepdim), "exact", what, false);
      if (is_complex(dtype)) return;
      expect_agrees(max(a.device, dims, keepdim), max(a.host, dims, keepdim), "exact", what, false);
      expect_agrees(argmax(a.device, dims[0], keepdim), argmax(a.host, dims[0], keepdim), "exact",
                    what);
      expect_agrees(argmax(a.device), argmax(a.host), "exact", what + ", all");
    });
  }
}

struct Long {
  Dims shape;
  std::vector<std::int64_t> dims;
};

std::vector<Long> long_ones() {
  return {{{300001}, {0}},      {{3, 200003}, {1}},       {{200003, 3}, {0}},
          {{3000, 260}, {0}},   {{2, 70000, 17}, {0, 1}}, {{70000, 2, 5}, {0, 2}},
          {{4, 50000, 2}, {1}}, {{100, 2, 3000}, {0, 2}}};
}

TEST_P(Reduction, joins_the_parts_of_long_ones) {
  std::mt19937 random(8);
  for (const Long& each : long_ones()) {
    const Twin a = twin(fractions(each.shape, random), GetParam());
    const std::string what = to_string(IntList(each.shape));
    expect_agrees(sum(a.device, each.dims), sum(a.host, each.dims), "accumulation", what);
    expect_agrees(min(a.device, each.dims), min(a.host, each.dims), "exact", what);
    const auto dim = each.dims.front();
    expect_agrees(argmax(a.device, dim), argmax(a.host, dim), "exact", what);
    expect_agrees(argmax(a.device), argmax(a.host), "exact", what + ", all");
  }
}

TEST_P(Reduction, gives_the_same_bits_twice) {
  std::mt19937 random(9);
  for (const Long& each : long_ones()) {
    const Tensor a = to(fractions(each.shape, random), device(GetParam()));
    const Tensor first = sum(a, each.dims);
    for (int i = 0; i < 3; ++i)
      expect_agrees(sum(a, each.dims), first, "exact", to_string(IntList(each.shape)));
  }
}

TEST_P(Reduction, keeps_a_nan_wherever_it_is) {
  constexpr std::int64_t count = 2500;
  for (std::int64_t at : {0, 1, 63, 64, 1023, 1024, 2047, 2048, 2499}) {
    std::vector<float> values(count, 1);
    values[static_cast<std::size_t>(at)] = std::nanf("");
    const Twin a = twin(tensor(values), GetParam());
    EXPECT_TRUE(std::isnan(item<float>(max(a.device)))) << at;
    EXPECT_TRUE(std::isnan(item<float>(min(a.device)))) << at;
    EXPECT_EQ(item<std::int64_t>(argmax(a.device)), at);
    const Tensor columns = views::expand(views::unsqueeze(a.device, 1), {count, 40});
    for (float largest : to_vector<float>(max(contiguous(columns), 0)))
      EXPECT_TRUE(std::isnan(largest)) << at;
  }
}

TEST_P(Reduction, finds_the_first_of_equal_ones) {
  std::vector<float> values(200000, 0);
  for (std::size_t i : {70001u, 70002u, 150000u}) values[i] = 3;
  const Twin a = twin(tensor(values), GetParam());
  EXPECT_EQ(item<std::int64_t>(argmax(a.device)), 70001);
  EXPECT_EQ(item<std::int64_t>(argmax(zeros({200000}, f32, device(GetParam())))), 0);
}

// A row of the application: no kernel is written for it.
Operator& prod() {
  static constexpr bp_expr_node steps[] = {
      {BP_X_ACC, 0, 0, 0, 0}, {BP_X_ARG, 0, 0, 0, 0}, {BP_X_MUL, 0, 1, 0, 0}};
  static Operator row{
      .schema_text = "test::prod(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor",
      .kind = BP_KIND_REDUCTION,
      .dtypes = dtypes::numeric,
      .promoted = 0b1,
      .infer = find_operator("max")->infer,
      .nodes = steps,
      .num_nodes = 3,
      .initial = 1,
  };
  if (!row.registered) register_operator(row);
  return row;
}

TEST_P(Reduction, computes_a_row_that_was_registered_now) {
  std::vector<double> values(90000, 1);
  for (std::size_t i = 0; i < values.size(); i += 1000) values[i] = i % 3000 ? 2 : -0.5;
  double expected = 1;
  for (double value : values) expected *= value;
  const Tensor a = tensor(values, {300, 300});
  for (Dtype dtype : {f64, complex64, f32}) {
    const Tensor on_device = to(to(a, device(GetParam())), dtype);
    expect_stays_on(GetParam(), "prod", [&] {
      const bp_value args[] = {value_of(on_device)};
      const Tensor all = call_boxed(prod(), args).at(0);
      if (!is_complex(dtype)) {
        EXPECT_EQ(item<double>(all), expected) << name(dtype);
      }
      EXPECT_EQ(name(all.dtype()), name(dtype));
    });
  }
  const std::vector<std::int64_t> dims{0};
  const Tensor whole =
      to(tensor(std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}, {2, 3}), device(GetParam()));
  const bp_value args[] = {value_of(whole), value_of(IntList(dims))};
  EXPECT_EQ(to_vector<std::int64_t>(call_boxed(prod(), args).at(0)),
            (std::vector<std::int64_t>{4, 10, 18}));
}

}  // namespace
}  // namespace bp::test
