// needs: cpu reference_compiler once
// Elementwise rows on devices that compile: a new row is tested by itself.
#include "codegen/agree.hpp"
#include "codegen/pointwise_dtypes.hpp"

namespace bp::test {
namespace {

using Case = std::tuple<const char*, const Operator*>;

class PointwiseRow : public testing::TestWithParam<Case> {};

TEST_P(PointwiseRow, agrees_with_cpu) {
  const auto [device, op] = GetParam();
  BP_SKIP_WITHOUT(device);
  expect_row_agrees(op->name(), device, quick_dtypes(device));
}

INSTANTIATE_TEST_SUITE_P(all, PointwiseRow,
                         testing::Combine(testing::Values("reference_compiler:0", "opencl:0",
                                                          "cuda:0"),
                                          testing::ValuesIn(rows_of_kind(BP_KIND_POINTWISE))),
                         [](const testing::TestParamInfo<Case>& each) {
                           const std::string device = std::get<0>(each.param);
                           return device.substr(0, device.find(':')) + "_" +
                                  std::get<1>(each.param)->name();
                         });

}  // namespace
}  // namespace bp::test
