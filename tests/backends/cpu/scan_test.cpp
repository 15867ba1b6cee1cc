// needs: cpu
// cumsum.
#include <cmath>

#include "direct_call.hpp"

namespace {

using namespace bp_test;

TEST(CpuScan, cumsum_runs_along_any_dimension) {
  Data a(BP_I64, {3, 70, 5});
  for (int64_t i = 0; i < a.numel(); ++i) a.at<int64_t>(i) = i * i % 11;
  const Sizes strides{350, 5, 1};
  for (int64_t dim = 0; dim < 3; ++dim) {
    Data out(BP_I64, a.shape());
    run("cumsum", {value(a), value(dim), none()}, {&out});
    for (int64_t i = 0; i < a.numel(); ++i) {
      const bool first = i / strides[dim] % a.shape()[dim] == 0;
      const int64_t before = first ? 0 : out.at<int64_t>(i - strides[dim]);
      ASSERT_EQ(out.at<int64_t>(i), before + a.at<int64_t>(i)) << dim << " " << i;
    }
  }
}

TEST(CpuScan, cumsum_goes_over_many_wide_lines) {
  Data a = Data(BP_F32, {500, 300}).permuted({1, 0});
  for (int64_t i = 0; i < a.numel(); ++i) a.at<float>(i) = static_cast<float>(i % 7);
  for (int64_t dim : {0, 1}) {
    Data out(BP_F32, a.shape());
    run("cumsum", {value(a), value(dim), none()}, {&out});
    const int64_t step = dim == 0 ? 500 : 1;
    for (int64_t i = 0; i < a.numel(); ++i) {
      const bool first = i / step % a.shape()[dim] == 0;
      const float before = first ? 0 : out.at<float>(i - step);
      ASSERT_EQ(out.at<float>(i), before + a.at<float>(i));
    }
  }
}

TEST(CpuScan, cumsum_of_a_long_line_loses_nothing) {
  Data a(BP_F32, {1000000});
  for (int64_t i = 0; i < a.numel(); ++i) a.at<float>(i) = 0.1f;
  Data out(BP_F32, {1000000});
  run("cumsum", {value(a), value(0), none()}, {&out});
  EXPECT_EQ(out.at<float>(999999), static_cast<float>(static_cast<double>(0.1f) * 1000000));
}

TEST(CpuScan, cumsum_may_write_over_its_input_and_wraps) {
  Data a = Data::of<int8_t>(BP_I8, {3}, {100, 100, 100});
  Data same = a;
  run("cumsum", {value(a), value(0), none()}, {&same});
  EXPECT_EQ(same.values<int8_t>(), (std::vector<int8_t>{100, -56, 44}));
  Data scalar = Data::of<double>(BP_F64, {}, {2.5});
  Data out(BP_F64, {});
  run("cumsum", {value(scalar), value(0), none()}, {&out});
  EXPECT_EQ(out.at<double>(0), 2.5);
}

}  // namespace
