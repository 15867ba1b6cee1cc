// needs: opencl
// Drivers, devices, contexts, and what they say of themselves.
#include "dispatcher/child.hpp"
#include "machine.hpp"

namespace level_zero {
namespace {

class Discovery : public Machine {};

TEST_F(Discovery, counts_before_it_lists) {
  uint32_t count = 0;
  ASSERT_EQ(zeDriverGet(&count, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_GE(count, 1u);
  count = 0;
  ASSERT_EQ(zeDeviceGet(driver_, &count, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_GE(count, 1u);
  std::vector<ze_device_handle_t> devices(count + 5);
  uint32_t asked = count + 5;
  ASSERT_EQ(zeDeviceGet(driver_, &asked, devices.data()), ZE_RESULT_SUCCESS);
  EXPECT_EQ(asked, count) << "as many as there are, not as asked for";
}

TEST_F(Discovery, a_driver_names_its_version) {
  ze_api_version_t version{};
  ASSERT_EQ(zeDriverGetApiVersion(driver_, &version), ZE_RESULT_SUCCESS);
  EXPECT_EQ(version, ZE_API_VERSION_1_4);
  ze_driver_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
  ASSERT_EQ(zeDriverGetProperties(driver_, &properties), ZE_RESULT_SUCCESS);
  EXPECT_NE(properties.driverVersion, 0u);
  void* function = nullptr;
  EXPECT_EQ(zeDriverGetExtensionFunctionAddress(driver_, "zeNoSuchThing", &function),
            ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
}

TEST_F(Discovery, a_device_is_a_processor_with_a_name) {
  ze_device_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  ASSERT_EQ(zeDeviceGetProperties(device_, &properties), ZE_RESULT_SUCCESS);
  EXPECT_EQ(properties.type, ZE_DEVICE_TYPE_CPU);
  EXPECT_STRNE(properties.name, "");
  EXPECT_GT(properties.maxMemAllocSize, 1u << 20);
  EXPECT_GE(properties.numEUsPerSubslice, 1u);
  EXPECT_EQ(properties.timerResolution, 1u) << "nanoseconds";
  properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
  ASSERT_EQ(zeDeviceGetProperties(device_, &properties), ZE_RESULT_SUCCESS);
  EXPECT_EQ(properties.timerResolution, 1000000000u) << "cycles in a second";
}

TEST_F(Discovery, a_device_tells_what_kernels_may_do) {
  ze_device_compute_properties_t compute{};
  compute.stype = ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES;
  ASSERT_EQ(zeDeviceGetComputeProperties(device_, &compute), ZE_RESULT_SUCCESS);
  EXPECT_GE(compute.maxTotalGroupSize, 64u);
  EXPECT_GE(compute.maxGroupSizeX, 64u);
  EXPECT_GE(compute.maxSharedLocalMemory, 16384u);
  ze_device_module_properties_t module{};
  module.stype = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES;
  ASSERT_EQ(zeDeviceGetModuleProperties(device_, &module), ZE_RESULT_SUCCESS);
  EXPECT_GE(module.spirvVersionSupported, unsigned{ZE_MAKE_VERSION(1, 0)});
  EXPECT_NE(module.fp32flags & ZE_DEVICE_FP_FLAG_ROUND_TO_NEAREST, 0u);
  EXPECT_EQ((module.flags & ZE_DEVICE_MODULE_FLAG_FP64) != 0, module.fp64flags != 0);
}

TEST_F(Discovery, one_group_of_queues_computes_and_one_copies) {
  uint32_t count = 0;
  ASSERT_EQ(zeDeviceGetCommandQueueGroupProperties(device_, &count, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(count, 2u);
  ze_command_queue_group_properties_t groups[2] = {};
  for (auto& group : groups) group.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES;
  ASSERT_EQ(zeDeviceGetCommandQueueGroupProperties(device_, &count, groups), ZE_RESULT_SUCCESS);
  EXPECT_NE(groups[0].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE, 0u);
  EXPECT_EQ(groups[1].flags,
            ze_command_queue_group_property_flags_t{ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY});
  EXPECT_GE(groups[0].numQueues, 1u);
  EXPECT_EQ(groups[0].maxMemoryFillPatternSize, 128u);
}

TEST_F(Discovery, a_device_tells_of_its_memory) {
  uint32_t count = 1;
  ze_device_memory_properties_t memory{};
  memory.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES;
  ASSERT_EQ(zeDeviceGetMemoryProperties(device_, &count, &memory), ZE_RESULT_SUCCESS);
  EXPECT_GT(memory.totalSize, 1u << 20);
  ze_device_memory_access_properties_t access{};
  access.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES;
  ASSERT_EQ(zeDeviceGetMemoryAccessProperties(device_, &access), ZE_RESULT_SUCCESS);
  EXPECT_NE(access.sharedSingleDeviceAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW, 0u);
  count = 1;
  ze_device_cache_properties_t cache{};
  cache.stype = ZE_STRUCTURE_TYPE_DEVICE_CACHE_PROPERTIES;
  EXPECT_EQ(zeDeviceGetCacheProperties(device_, &count, &cache), ZE_RESULT_SUCCESS);
}

TEST_F(Discovery, devices_of_a_driver_reach_each_other) {
  ze_bool_t can = 0;
  ASSERT_EQ(zeDeviceCanAccessPeer(device_, device_, &can), ZE_RESULT_SUCCESS);
  EXPECT_TRUE(can);
  ze_device_p2p_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DEVICE_P2P_PROPERTIES;
  ASSERT_EQ(zeDeviceGetP2PProperties(device_, device_, &properties), ZE_RESULT_SUCCESS);
  EXPECT_NE(properties.flags & ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS, 0u);
}

TEST_F(Discovery, both_clocks_run_together) {
  uint64_t of_host[2], of_device[2];
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(zeDeviceGetGlobalTimestamps(device_, &of_host[i], &of_device[i]), ZE_RESULT_SUCCESS);
  EXPECT_GE(of_host[1], of_host[0]);
  EXPECT_EQ(of_host[1] - of_host[0], of_device[1] - of_device[0]);
}

TEST_F(Discovery, null_handles_and_pointers_are_refused) {
  EXPECT_EQ(zeDriverGet(nullptr, nullptr), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  EXPECT_EQ(zeDeviceGetStatus(nullptr), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  EXPECT_EQ(zeDeviceGetProperties(device_, nullptr), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  uint32_t count = 0;
  EXPECT_EQ(zeDeviceGet(nullptr, &count, nullptr), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  EXPECT_EQ(zeContextDestroy(nullptr), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
}

TEST_F(Discovery, a_handle_of_another_kind_is_refused) {
  const auto wrong = reinterpret_cast<ze_device_handle_t>(context_);
  EXPECT_EQ(zeDeviceGetStatus(wrong), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
}

TEST_F(Discovery, what_is_not_offered_says_so) {
  ze_device_image_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DEVICE_IMAGE_PROPERTIES;
  EXPECT_EQ(zeDeviceGetImageProperties(device_, &properties), ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  size_t page = 0;
  EXPECT_EQ(zeVirtualMemQueryPageSize(context_, device_, 1 << 20, &page),
            ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
}

// In a process whose OpenCL has no driver.
TEST(DiscoveryChild, DISABLED_finds_nothing) {
  setenv("ZE_ENABLE_ALT_DRIVERS", BP_LEVEL_ZERO_DRIVER, 1);
  const ze_result_t result = zeInit(0);
  if (result == ZE_RESULT_SUCCESS) {
    uint32_t count = 1;
    EXPECT_TRUE(zeDriverGet(&count, nullptr) != ZE_RESULT_SUCCESS || count == 0);
  } else {
    EXPECT_EQ(result, ZE_RESULT_ERROR_UNINITIALIZED);
  }
}

TEST(DiscoveryWithoutOpencl, finds_nothing) {
  const bp::test::TemporaryFolder empty;
  bp::test::expect_passes("DiscoveryChild.DISABLED_finds_nothing",
                          {"OCL_ICD_VENDORS=" + empty.path().string() + "/"});
}

class TwoDevicesChild : public Machine {};

// In a process where PoCL shows its device twice.
TEST_F(TwoDevicesChild, DISABLED_share_memory) {
  uint32_t count = 2;
  ze_device_handle_t devices[2] = {};
  ASSERT_EQ(zeDeviceGet(driver_, &count, devices), ZE_RESULT_SUCCESS);
  ASSERT_EQ(count, 2u);
  ze_bool_t can = 0;
  ASSERT_EQ(zeDeviceCanAccessPeer(devices[0], devices[1], &can), ZE_RESULT_SUCCESS);
  EXPECT_TRUE(can);
  auto* on_first = static_cast<int*>(device_memory(sizeof(int)));
  device_ = devices[1];
  const ze_command_list_handle_t list = immediate();
  const int seven = 7;
  ASSERT_EQ(zeCommandListAppendMemoryFill(list, on_first, &seven, 4, 4, nullptr, 0, nullptr),
            ZE_RESULT_SUCCESS);
  finish(list);
  EXPECT_EQ(*on_first, 7);
}

TEST_F(Discovery, several_devices_share_memory) {
  if (!is_pocl()) GTEST_SKIP() << "only PoCL can show its device twice";
  bp::test::expect_passes("TwoDevicesChild.DISABLED_share_memory",
                          {"POCL_DEVICES=pthread pthread"});
}

}  // namespace
}  // namespace level_zero
