// needs: cpu cuda
#include <backplane/loading/loader.hpp>

#include "capture/planned_checks.hpp"

namespace bp::test {
namespace {

TEST(PlannedOnCuda, kernels_are_recorded_by_the_device) {
  load_all_plugins();
  if (!find_device("cuda:0")) GTEST_SKIP() << "no card is here";
  expect_a_planned_kernel_is_recorded(device("cuda:0"));
}

}  // namespace
}  // namespace bp::test
