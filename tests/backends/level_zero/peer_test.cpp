// needs: level_zero
// The extension bp.peer of the Level Zero backend: copies between two devices of one driver. PoCL offers two when its
// environment asks for them, in a process of their own.
#include <backplane/extensions/peer.h>

#include "backends/level_zero/direct_device.hpp"
#include "dispatcher/child.hpp"

namespace {

uint32_t count_devices(const fake::Plugin& plugin) {
  uint32_t count = 0;
  EXPECT_EQ(plugin->devices(plugin->self, &count, nullptr), BP_OK);
  return count;
}

TEST(LevelZeroPeerChild, DISABLED_copies_in_the_order_of_both_streams) {
  direct::OpenDevice on;
  if (count_devices(on.plugin) < 2) GTEST_SKIP() << "one device";
  fake::Device other(on.plugin, 1);
  const bp_peer& peer = on.extension<bp_peer>(BP_PEER);
  const bp_handle here = on.device.allocate(4), there = other.allocate(4);
  bp_stream* stream = on.make_stream();
  for (int i = 0; i < 100; ++i) {
    int got = -1;
    ASSERT_EQ(on.device.from_host(here, &i, 4, stream), BP_OK);
    const bp_region to{there, 0, 4}, from{here, 0, 4};
    ASSERT_EQ(peer.copy(other.get(), &to, nullptr, on.device.get(), &from, stream), BP_OK)
        << fake::Host::last_message();
    ASSERT_EQ(other.to_host(&got, there, 4), BP_OK);
    ASSERT_EQ(other.synchronize(), BP_OK);
    ASSERT_EQ(got, i);
  }
  ASSERT_EQ(on.device.synchronize(stream), BP_OK);
  on.destroy(stream);
  on.device.release(here);
  other.release(there);
}

TEST(LevelZeroPeerChild, DISABLED_a_stream_waits_for_another_devices_event) {
  direct::OpenDevice on;
  if (count_devices(on.plugin) < 2) GTEST_SKIP() << "one device";
  fake::Device other(on.plugin, 1);
  const bp_peer& peer = on.extension<bp_peer>(BP_PEER);
  constexpr uint64_t bytes = 64 << 20;
  const std::vector<char> sent(bytes, 1);
  const bp_handle here = on.device.allocate(bytes);
  bp_stream* stream = on.make_stream();
  bp_event *event = on.make_event(), *after = nullptr;
  ASSERT_EQ(other.queue().create_event(other.get(), &after), BP_OK);
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(on.device.from_host(here, sent.data(), bytes, stream), BP_OK);
    ASSERT_EQ(on.device.queue().record_event(on.device.get(), event, stream), BP_OK);
    ASSERT_EQ(peer.wait_event(other.get(), nullptr, on.device.get(), event), BP_OK)
        << fake::Host::last_message();
    ASSERT_EQ(other.queue().record_event(other.get(), after, nullptr), BP_OK);
    ASSERT_EQ(other.queue().synchronize_event(other.get(), after), BP_OK);
    EXPECT_EQ(on.device.queue().query_event(on.device.get(), event), BP_OK) << "not waited for";
  }
  ASSERT_EQ(on.device.synchronize(stream), BP_OK);
  other.queue().destroy_event(other.get(), after);
  on.destroy(event);
  on.destroy(stream);
  on.device.release(here);
}

TEST(LevelZeroPeer, a_stream_waits_for_another_devices_event) {
  if (!direct::has_device()) GTEST_SKIP() << "the test's driver has no OpenCL device";
  const bp::test::Child child =
      bp::test::run_child("LevelZeroPeerChild.DISABLED_a_stream_waits_for_another_devices_event",
                          {"POCL_DEVICES=pthread pthread"});
  EXPECT_EQ(child.exit_code, 0) << child.output;
}

TEST(LevelZeroPeer, copies_in_the_order_of_both_streams) {
  if (!direct::has_device()) GTEST_SKIP() << "the test's driver has no OpenCL device";
  const bp::test::Child child =
      bp::test::run_child("LevelZeroPeerChild.DISABLED_copies_in_the_order_of_both_streams",
                          {"POCL_DEVICES=pthread pthread"});
  EXPECT_EQ(child.exit_code, 0) << child.output;
}

}  // namespace
