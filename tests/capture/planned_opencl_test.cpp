// needs: cpu opencl
#include "capture/planned_checks.hpp"

namespace bp::test {
namespace {

TEST(PlannedOnOpenCl, kernels_are_recorded_by_the_device) {
  expect_a_planned_kernel_is_recorded(device("opencl"));
}

}  // namespace
}  // namespace bp::test
