// needs: opencl
// What a driver may answer when something went wrong, and what becomes of it.
#include "backends/opencl/direct_device.hpp"
#include "backends/opencl/driver_faults.hpp"

namespace {

constexpr int device_not_available = -2, allocation_failure = -4, out_of_resources = -5,
              out_of_host_memory = -6, invalid_queue = -36;

class OpenClFaults : public direct::OpenCl {
 protected:
  void SetUp() override {
    ASSERT_EQ(device.synchronize(), BP_OK);
    ASSERT_TRUE(driver::is_in_between()) << "this program exports no OpenCL functions";
  }
  void TearDown() override { driver::faults = {}; }
};

TEST_F(OpenClFaults, exhausted_memory_is_out_of_memory) {
  for (const int error : {allocation_failure, out_of_resources, out_of_host_memory}) {
    driver::faults.create_buffer = error;
    bp_handle handle = 0;
    EXPECT_EQ(memory().allocate(device.get(), 100, 64, &handle), BP_OUT_OF_MEMORY) << error;
    EXPECT_EQ(handle, 0u);
    EXPECT_THAT(fake::Host::last_message(), testing::StartsWith("100 bytes asked for: CL_"));
  }
  driver::faults = {};
  const bp_handle handle = device.allocate(100);
  EXPECT_NE(handle, 0u);
  device.release(handle);
}

TEST_F(OpenClFaults, a_lost_device_is_told_by_every_call) {
  const bp_handle handle = device.allocate(8);
  bp_module* module = compile(direct::spin);
  bp_function* spin = find(module, "spin");
  const uint64_t rounds = 1;
  char bytes[8] = {};
  driver::faults.finish = driver::faults.enqueue_kernel = driver::faults.enqueue_write =
      device_not_available;
  EXPECT_EQ(device.synchronize(), BP_DEVICE_LOST);
  EXPECT_EQ(fake::Host::last_message(),
            "work given earlier to this stream: CL_DEVICE_NOT_AVAILABLE (-2)");
  EXPECT_EQ(device.from_host(handle, bytes, 8), BP_DEVICE_LOST);
  EXPECT_EQ(launch(spin, 1, {argument(handle), argument(&rounds)}), BP_DEVICE_LOST);
  EXPECT_EQ(fake::Host::last_message(), "spin: CL_DEVICE_NOT_AVAILABLE (-2)");
  driver::faults = {};
  EXPECT_EQ(device.synchronize(), BP_OK);
  device.release(handle);
  release(module);
}

TEST_F(OpenClFaults, a_failure_of_earlier_work_comes_out_of_synchronize) {
  for (const int error : {out_of_resources, invalid_queue}) {
    driver::faults.finish = error;
    EXPECT_EQ(device.synchronize(), BP_STREAM_LOST) << error;
  }
}

TEST_F(OpenClFaults, a_failure_of_earlier_work_comes_out_of_queries) {
  bp_event* event = make_event();
  const bp_handle handle = upload(std::vector<int>{1, 2});
  ASSERT_EQ(device.queue().record_event(device.get(), event, nullptr), BP_OK);
  driver::faults.event_status = out_of_resources;
  EXPECT_EQ(device.queue().query_stream(device.get(), nullptr), BP_STREAM_LOST);
  EXPECT_EQ(fake::Host::last_message(),
            "work given earlier to this stream: CL_OUT_OF_RESOURCES (-5)");
  EXPECT_EQ(device.queue().query_event(device.get(), event), BP_STREAM_LOST);
  driver::faults = {};
  EXPECT_EQ(device.queue().query_stream(device.get(), nullptr), BP_OK);  // once
  device.queue().destroy_event(device.get(), event);
  device.release(handle);
}

TEST_F(OpenClFaults, a_launch_beyond_the_device_s_resources_names_them) {
  bp_module* module = compile(direct::spin);
  const bp_handle handle = device.allocate(8);
  const uint64_t rounds = 1;
  driver::faults.enqueue_kernel = out_of_resources;
  EXPECT_EQ(launch(find(module, "spin"), 1, {argument(handle), argument(&rounds)}), BP_UNSUPPORTED);
  EXPECT_THAT(fake::Host::last_message(),
              testing::AllOf(testing::HasSubstr("in groups of 1x1x1"),
                             testing::HasSubstr("bytes of local memory"),
                             testing::HasSubstr("CL_OUT_OF_RESOURCES (-5)")));
  device.release(handle);
  release(module);
}

// In a process of its own, since drivers are looked for once.
TEST(OpenClFaultsDeathTest, a_platform_that_cannot_list_its_devices_is_left_out) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto look = [] {
    driver::faults.list_devices = out_of_host_memory;
    fake::Host host;
    fake::Plugin plugin(host, BP_PLUGIN_DIR "/libbackplane_opencl.so");
    uint32_t count = 77;
    bool told = plugin->devices(plugin->self, &count, nullptr) == BP_OK && count == 0 &&
                plugin->probe(plugin->self) == BP_UNSUPPORTED;
    for (const std::string& line : host.log_lines())
      if (line.find("is left out: listing its devices: CL_OUT_OF_HOST_MEMORY") != std::string::npos)
        std::_Exit(told ? 0 : 1);
    std::_Exit(2);
  };
  EXPECT_EXIT(look(), testing::ExitedWithCode(0), "");
}

}  // namespace
