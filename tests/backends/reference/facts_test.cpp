// needs: reference
// What the software device says of itself: free memory to the byte, and that only the host lies between two of them.
#include <backplane/extensions/peer.h>

#include "backends/device_facts.hpp"

namespace {

class ReferenceFacts : public testing::Test {
 protected:
  fake::Host host;
  fake::Plugin plugin{host, BP_PLUGIN_DIR "/libbackplane_reference.so"};
  fake::Device device{plugin, 0}, other{plugin, 1};
};

TEST_F(ReferenceFacts, software_has_no_place_in_the_machine) {
  for (const bp_device_info& info : direct::facts_of(plugin)) {
    EXPECT_FALSE(direct::has_uuid(info));
    EXPECT_STREQ(info.bus, "");
    EXPECT_EQ(info.numa_node, -1);
  }
}

TEST_F(ReferenceFacts, free_memory_falls_by_what_is_allocated) {
  const bp_space_info before = direct::main_space(plugin, device);
  EXPECT_EQ(before.total_bytes, direct::facts_of(plugin)[0].total_memory);
  const bp_handle held = device.allocate(12345);
  EXPECT_EQ(direct::main_space(plugin, device).free_bytes, before.free_bytes - 12345);
  EXPECT_EQ(direct::main_space(plugin, other).free_bytes, before.free_bytes);
  device.release(held);
  EXPECT_EQ(direct::main_space(plugin, device).free_bytes, before.free_bytes);
  direct::expect_no_space_beside_the_main_one(plugin, device);
}

TEST_F(ReferenceFacts, the_host_lies_between_two_devices) {
  const auto& peer =
      *reinterpret_cast<const bp_peer*>(plugin->extension(plugin->self, BP_PEER, BP_PEER_VERSION));
  const auto kind_between = [&](fake::Device& a, fake::Device& b) {
    bp_link link{};
    link.h.size = sizeof link;
    EXPECT_EQ(peer.link(a.get(), b.get(), &link), BP_OK);
    return link.kind;
  };
  EXPECT_EQ(kind_between(device, other), BP_LINK_HOST);
  EXPECT_EQ(kind_between(other, device), BP_LINK_HOST);
  EXPECT_EQ(kind_between(device, device), BP_LINK_SAME);
}

}  // namespace
