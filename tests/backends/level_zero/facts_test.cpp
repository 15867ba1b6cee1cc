// needs: level_zero
// What the Level Zero backend says of its devices beyond names and memory, on the tests' driver.
#include <gmock/gmock.h>

#include "backends/device_facts.hpp"
#include "backends/level_zero/direct_device.hpp"

namespace {

class LevelZeroFacts : public testing::Test {
 protected:
  void SetUp() override {
    if (!direct::has_device()) GTEST_SKIP() << "the test's driver has no OpenCL device";
  }
};

TEST_F(LevelZeroFacts, the_driver_tells_its_version_the_unit_and_its_cores) {
  direct::OpenDevice on;
  for (const bp_device_info& info : direct::facts_of(on.plugin)) {
    EXPECT_THAT(info.driver, testing::StartsWith("Level Zero 1."));
    EXPECT_TRUE(direct::has_uuid(info));
    EXPECT_GT(info.num_cores, 0u);
  }
}

TEST_F(LevelZeroFacts, a_device_without_a_bus_has_neither_address_nor_node) {
  direct::OpenDevice on;
  for (const bp_device_info& info : direct::facts_of(on.plugin)) {
    if (info.bus[0] != 0) continue;
    EXPECT_EQ(info.numa_node, -1);
  }
}

TEST_F(LevelZeroFacts, queues_have_three_priorities) {
  direct::OpenDevice on;
  const bp_device_info info = direct::facts_of(on.plugin)[0];
  EXPECT_EQ(info.least_priority, 1);
  EXPECT_EQ(info.greatest_priority, -1);
  direct::expect_streams_at_both_priorities(on.device, info);
}

}  // namespace
