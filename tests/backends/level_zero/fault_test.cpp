// needs: level_zero
// What the driver answers when something went wrong, and what becomes of it. The test's driver fails when its environment
// asks for it, which it reads when it starts: each case is a process of its own.
#include "backends/level_zero/direct_device.hpp"
#include "dispatcher/child.hpp"

namespace {

using bp::test::expect_passes;
using testing::HasSubstr;

class LevelZeroFaults : public testing::Test {
 protected:
  void SetUp() override {
    if (!direct::has_device()) GTEST_SKIP() << "the test's driver has no OpenCL device";
    if (!direct::spirv_of(direct::spin)) GTEST_SKIP() << "no clang, opt and llvm-spirv";
  }
};

TEST(LevelZeroFaultChild, DISABLED_memory_ends) {
  direct::OpenDevice on;
  const bp_handle first = on.device.allocate(600000);
  EXPECT_NE(first, 0u);
  bp_handle second = 0;
  EXPECT_EQ(on.memory().allocate(on.device.get(), 600000, 64, &second), BP_OUT_OF_MEMORY);
  EXPECT_EQ(second, 0u);
  EXPECT_EQ(fake::Host::last_message(),
            "600000 bytes asked for: zeMemAllocDevice: ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY "
            "(0x70000003)");
  on.device.release(first);
  second = on.device.allocate(600000);
  EXPECT_NE(second, 0u);
  on.device.release(second);
}
TEST_F(LevelZeroFaults, exhausted_memory_is_out_of_memory) {
  expect_passes("LevelZeroFaultChild.DISABLED_memory_ends",
                {"ZE_OVER_OPENCL_MEMORY_BYTES=1000000"});
}

TEST(LevelZeroFaultChild, DISABLED_device_is_lost) {
  direct::OpenDevice on;
  const bp_handle handle = on.device.allocate(8);
  bp_function* spin = on.find(on.compile(direct::spin), "spin");
  const uint64_t rounds = 1;
  const auto launch = [&] {
    return on.launch(spin, 1, {on.argument(handle), on.argument(&rounds)});
  };
  EXPECT_EQ(launch(), BP_OK);
  EXPECT_EQ(on.device.synchronize(), BP_OK);
  // The launch itself may be taken; waiting for it reports the error.
  (void)launch();
  EXPECT_EQ(on.device.synchronize(), BP_DEVICE_LOST);
  EXPECT_THAT(fake::Host::last_message(), HasSubstr("DEVICE_LOST"));
  char bytes[8] = {};
  bp_handle other = 0;
  EXPECT_EQ(on.device.from_host(handle, bytes, 8), BP_DEVICE_LOST);
  EXPECT_THAT(fake::Host::last_message(), HasSubstr("the device was lost in ze"));
  EXPECT_EQ(launch(), BP_DEVICE_LOST);
  EXPECT_EQ(on.memory().allocate(on.device.get(), 8, 64, &other), BP_DEVICE_LOST);
  EXPECT_EQ(on.device.queue().query_stream(on.device.get(), nullptr), BP_DEVICE_LOST);
  bp_stream* stream = nullptr;
  EXPECT_EQ(on.device.queue().create_stream(on.device.get(), 0, &stream), BP_DEVICE_LOST);
  on.device.release(handle);
}
TEST_F(LevelZeroFaults, a_lost_device_is_told_by_every_later_call) {
  expect_passes("LevelZeroFaultChild.DISABLED_device_is_lost",
                {"ZE_OVER_OPENCL_LOST_AFTER_LAUNCHES=1"});
}

TEST(LevelZeroFaultChild, DISABLED_events_are_slow) {
  direct::OpenDevice on;
  bp_stream *writer = on.make_stream(), *reader = on.make_stream();
  bp_event* written = on.make_event();
  const bp_handle handle = on.upload(std::vector<int>{0});
  for (int i = 1; i < 6; ++i) {
    int got = 0;
    EXPECT_EQ(on.device.from_host(handle, &i, 4, writer), BP_OK);
    EXPECT_EQ(on.device.queue().record_event(on.device.get(), written, writer), BP_OK);
    EXPECT_EQ(on.device.queue().query_event(on.device.get(), written), BP_RETRY);
    EXPECT_EQ(on.device.queue().wait_event(on.device.get(), reader, written), BP_OK);
    EXPECT_EQ(on.device.to_host(&got, handle, 4, reader), BP_OK);
    EXPECT_EQ(on.device.synchronize(reader), BP_OK);
    EXPECT_EQ(got, i);
  }
  on.destroy(written);
  on.device.release(handle);
  on.destroy(writer);
  on.destroy(reader);
}
TEST_F(LevelZeroFaults, slow_events_keep_every_order) {
  expect_passes("LevelZeroFaultChild.DISABLED_events_are_slow",
                {"ZE_OVER_OPENCL_EVENT_DELAY_MS=50"});
}

// Level Zero orders commands only as far as it is told to.
TEST(LevelZeroFaultChild, DISABLED_commands_come_in_any_order) {
  for (const char* lists : {"immediate", "regular"}) {
    const direct::Variable chosen("BACKPLANE_LEVEL_ZERO_LISTS", lists);
    direct::OpenDevice on;
    bp_module* module = on.compile(direct::axpb);
    bp_function* axpb = on.find(module, "axpb");
    const bp_handle x = on.upload(std::vector<float>(1000, 0)), y = on.device.allocate(4000);
    const direct::AxpbValues values{0, 0, 1, 1};
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(on.launch(axpb, 1000, {on.argument(x), on.argument(y), on.argument(&values)}),
                BP_OK);
      EXPECT_EQ(on.device.copy({x, 0, 4000}, {y, 0, 4000}, BP_COPY_WITHIN), BP_OK);
    }
    EXPECT_EQ(on.download<float>(x, 1000), std::vector<float>(1000, 100)) << lists;
    on.device.release(x);
    on.device.release(y);
    on.release(module);
  }
}
TEST_F(LevelZeroFaults, a_driver_that_runs_commands_in_any_order_is_told_ours) {
  expect_passes("LevelZeroFaultChild.DISABLED_commands_come_in_any_order",
                {"ZE_OVER_OPENCL_LOOSE_ORDER=1"});
}

}  // namespace
