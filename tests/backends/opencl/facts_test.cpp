// needs: opencl
// What the OpenCL backend says of its devices beyond names and memory.
#include <gmock/gmock.h>

#include "backends/device_facts.hpp"

namespace {

TEST(OpenClFacts, every_driver_tells_its_version_its_units_and_their_clock) {
  fake::Host host;
  fake::Plugin plugin(host, BP_PLUGIN_DIR "/libbackplane_opencl.so");
  const std::vector<bp_device_info> all = direct::facts_of(plugin);
  ASSERT_FALSE(all.empty());
  for (const bp_device_info& info : all) {
    EXPECT_STRNE(info.driver, "");
    EXPECT_GT(info.num_cores, 0u);
    EXPECT_GE(info.least_priority, info.greatest_priority);
    // Only a bus tells the node.
    if (info.bus[0] == 0) {
      EXPECT_EQ(info.numa_node, -1);
    }
  }
}

TEST(OpenClFacts, streams_of_both_ends_of_the_range_are_made) {
  fake::Host host;
  fake::Plugin plugin(host, BP_PLUGIN_DIR "/libbackplane_opencl.so");
  fake::Device device(plugin, 0);
  direct::expect_streams_at_both_priorities(device, direct::facts_of(plugin)[0]);
}

}  // namespace
