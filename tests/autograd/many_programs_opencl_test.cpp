// needs: cpu opencl slow
// Random programs of all rows on OpenCL.
#include <gtest/gtest.h>

#include "autograd/programs/kept.hpp"
#include "autograd/programs/sweep.hpp"

namespace bp::test::programs {
namespace {

TEST(AllKeptProgramsOnOpencl, are_right) {
  for (const auto& [where, program] : kept_programs())
    EXPECT_EQ(check_program(program, {"opencl"}), "") << where << "\n" << text_of(program);
}

TEST(ManyRandomProgramsOnOpencl, are_right) {
  const Swept swept = sweep(wanted_seed() + 1'000'000, wanted_programs(1'000), {"opencl"});
  EXPECT_TRUE(swept.found.empty()) << text_of(swept);
}

}  // namespace
}  // namespace bp::test::programs
