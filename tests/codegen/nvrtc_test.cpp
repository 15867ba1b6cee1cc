// needs: cpu once
// NVRTC takes the kernels of every row, in the types for which kernels differ in kind: real, integral, stored as
// another, and structs.
#include "codegen/nvrtc.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/paper.hpp"

namespace bp::test {
namespace {

TEST(Nvrtc, says_what_is_wrong) {
  BP_SKIP_WITHOUT_NVRTC();
  EXPECT_EQ(nvrtc_log("extern \"C\" __global__ void k(float* x) { *x = 1; }", "sm_90"), "");
  EXPECT_THAT(nvrtc_log("extern \"C\" __global__ void k(float* x) { *y = 1; }", "sm_90"),
              testing::HasSubstr("identifier \"y\" is undefined"));
}

TEST(Nvrtc, takes_every_rows_kernels_in_the_main_types) {
  BP_SKIP_WITHOUT_NVRTC();
  constexpr Dtype main_dtypes[] = {f32, i64, bf16, complex64};
  const auto sources = sources_on_paper(main_dtypes);
  EXPECT_GT(sources.size(), 100u);
  expect_nvrtc_takes(sources, "compute_90");
}

}  // namespace
}  // namespace bp::test
