// needs: cpu opencl slow
// Random programs of all rows on OpenCL.
#include <gtest/gtest.h>

#include "autograd/programs/sweep.hpp"

namespace bp::test::programs {
namespace {

TEST(ManyRandomProgramsOnOpencl, are_right) {
  const Swept swept = sweep(wanted_seed() + 1'000'000, wanted_programs(1'000), {"opencl"});
  EXPECT_TRUE(swept.found.empty()) << text_of(swept);
}

}  // namespace
}  // namespace bp::test::programs
