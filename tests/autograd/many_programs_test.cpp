// needs: cpu reference_primitives slow
// Ten thousand random programs; others than in each run.
#include <gtest/gtest.h>

#include "autograd/programs/sweep.hpp"

namespace bp::test::programs {
namespace {

TEST(ManyRandomPrograms, are_right_on_each_device) {
  const Swept swept =
      sweep(wanted_seed() + 1'000'000, wanted_programs(10'000), {"cpu", "reference_primitives"});
  EXPECT_TRUE(swept.found.empty()) << text_of(swept);
}

}  // namespace
}  // namespace bp::test::programs
