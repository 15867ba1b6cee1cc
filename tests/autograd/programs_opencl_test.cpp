// needs: cpu opencl
// Random programs on a device of its own memory, of few rows: the device's compiler takes longer than all else.
#include <gtest/gtest.h>

#include "autograd/programs/kept.hpp"
#include "autograd/programs/sweep.hpp"

namespace bp::test::programs {
namespace {

TEST(KeptProgramsOnOpencl, are_right) {
  for (const auto& [where, program] : kept_programs()) {
    if (!is_of_few_rows(program)) continue;
    EXPECT_EQ(check_program(program, {"opencl"}), "") << where << "\n" << text_of(program);
  }
}

TEST(RandomProgramsOnOpencl, are_right) {
  const Swept swept = sweep(wanted_seed(), wanted_programs(100), {"opencl"}, Pool::few);
  EXPECT_TRUE(swept.found.empty()) << text_of(swept);
  EXPECT_GE(swept.num_judged, swept.num_programs * 9 / 10) << text_of(swept);
}

}  // namespace
}  // namespace bp::test::programs
