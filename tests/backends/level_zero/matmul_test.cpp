// needs: cpu level_zero
// The matmul that was made when the plugin was built: by itself, where nothing may be generated.
#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/policy.hpp>
#include <backplane/tensors.hpp>

#include "backends/level_zero/direct_device.hpp"
#include "dispatcher/child.hpp"

namespace {

// How many calls of matmul the plugin's own kernel served.
std::uint64_t native_products() {
  std::uint64_t calls = 0;
  for (const bp::CallCount& count : bp::call_counts())
    if (count.backend == "level_zero" && count.op == "matmul")
      calls += count.calls[static_cast<int>(bp::Rung::native)];
  return calls;
}

void expect_products_agree() {
  const bp::Device device = bp::device("level_zero:0");
  const bp::PolicyScope nothing_generated(bp::Rung::generated, bp::Policy::forbid);
  // Whole blocks, cut ones on both sides, and matrices smaller than a block.
  const std::int64_t sizes[][3] = {{64, 64, 64}, {65, 17, 33}, {7, 100, 15}, {1, 1, 1}, {3, 5, 90}};
  for (const auto& [m, k, n] : sizes) {
    const bp::Tensor a = bp::randn({m, k}), b = bp::randn({k, n});
    bp::reset_call_counts();
    const bp::Tensor c = bp::matmul(bp::to(a, device), bp::to(b, device));
    EXPECT_EQ(native_products(), 1u);
    const bp::Tensor apart = bp::abs(bp::sub(bp::to(c, bp::device("cpu:0")), bp::matmul(a, b)));
    EXPECT_LT(bp::item<double>(bp::max(apart)), 1e-4) << m << "x" << k << "x" << n;
  }
}

TEST(LevelZeroMatmulChild, DISABLED_agrees_with_cpu) {
  expect_products_agree();
}

// Each shape has blocks of its own, which the module is given as specialization constants.
TEST(LevelZeroMatmul, of_the_shipped_module_agrees_with_cpu) {
  if (!direct::has_device()) GTEST_SKIP() << "the test's driver has no OpenCL device";
  for (const char* shape : {"cpu", "gpu"}) {
    const bp::test::Child child =
        bp::test::run_child("LevelZeroMatmulChild.DISABLED_agrees_with_cpu",
                            {std::string("BACKPLANE_LEVEL_ZERO_SHAPE=") + shape});
    EXPECT_EQ(child.exit_code, 0) << child.output;
  }
}

}  // namespace
