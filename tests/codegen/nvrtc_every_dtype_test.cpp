// needs: cpu slow
// NVRTC takes the kernels of every row in every type.
#include <gtest/gtest.h>

#include "codegen/nvrtc.hpp"
#include "codegen/paper.hpp"

namespace bp::test {
namespace {

TEST(NvrtcEveryDtype, takes_every_rows_kernels) {
  BP_SKIP_WITHOUT_NVRTC();
  std::vector<Dtype> all;
  for (unsigned i = 0; i < num_dtypes; ++i) all.push_back(static_cast<Dtype>(i));
  const auto sources = sources_on_paper(all);
  EXPECT_GT(sources.size(), 500u);
  expect_nvrtc_takes(sources, "sm_90");
}

}  // namespace
}  // namespace bp::test
