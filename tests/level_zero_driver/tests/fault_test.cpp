// needs: opencl
// What the driver does wrong on request, and that it recovers.
#include <chrono>
#include <cstring>

#include "machine.hpp"

namespace level_zero {
namespace {

class DriverFaults : public Machine {
 protected:
  ze_result_t allocate(size_t bytes, void** memory) {
    const ze_device_mem_alloc_desc_t description{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr,
                                                 0, 0};
    return zeMemAllocDevice(context_, &description, bytes, 0, device_, memory);
  }
};

TEST_F(DriverFaults, memory_ends_after_so_many_bytes) {
  const Fault limited("ZE_OVER_OPENCL_MEMORY_BYTES", "1000");
  void *first = nullptr, *second = nullptr;
  ASSERT_EQ(allocate(600, &first), ZE_RESULT_SUCCESS);
  EXPECT_EQ(allocate(600, &second), ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
  const ze_host_mem_alloc_desc_t of_host{ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
  EXPECT_EQ(zeMemAllocHost(context_, &of_host, 600, 0, &second),
            ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  ASSERT_EQ(zeMemFree(context_, first), ZE_RESULT_SUCCESS);
  ASSERT_EQ(allocate(600, &second), ZE_RESULT_SUCCESS) << "what was freed is there again";
  ASSERT_EQ(zeMemFree(context_, second), ZE_RESULT_SUCCESS);
}

TEST_F(DriverFaults, one_allocation_fails_and_the_next_does_not) {
  const Fault third("ZE_OVER_OPENCL_FAILING_ALLOCATION", "3");
  void* memory[4] = {};
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(allocate(10, &memory[i]),
              i == 2 ? ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY : ZE_RESULT_SUCCESS);
  for (const int i : {0, 1, 3}) EXPECT_EQ(zeMemFree(context_, memory[i]), ZE_RESULT_SUCCESS);
}

TEST_F(DriverFaults, a_device_is_lost_for_everything_and_for_good) {
  if (test_kernels().empty()) GTEST_SKIP() << "no clang-15 and llvm-spirv-15";
  int* data = shared<int>(1);
  *data = 0;
  const ze_kernel_handle_t add = kernel("add_number");
  set(add, 0, data);
  set(add, 1, 1);
  const ze_command_list_handle_t list = immediate();
  const ze_command_queue_handle_t in = queue();
  const ze_event_handle_t second = event(), third = event();
  const ze_group_count_t one{1, 1, 1};
  {
    const Fault lost("ZE_OVER_OPENCL_LOST_AFTER_LAUNCHES", "2");
    for (const ze_event_handle_t done : {ze_event_handle_t{}, second, third})
      EXPECT_EQ(zeCommandListAppendLaunchKernel(list, add, &one, done, 0, nullptr),
                ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeEventHostSynchronize(third, forever), ZE_RESULT_ERROR_DEVICE_LOST);
    EXPECT_EQ(zeDeviceGetStatus(device_), ZE_RESULT_ERROR_DEVICE_LOST);
    EXPECT_EQ(zeContextGetStatus(context_), ZE_RESULT_ERROR_DEVICE_LOST);
    EXPECT_EQ(zeCommandQueueSynchronize(in, forever), ZE_RESULT_ERROR_DEVICE_LOST);
    EXPECT_EQ(zeCommandListAppendLaunchKernel(list, add, &one, nullptr, 0, nullptr),
              ZE_RESULT_ERROR_DEVICE_LOST);
    EXPECT_EQ(zeCommandListAppendBarrier(list, nullptr, 0, nullptr), ZE_RESULT_ERROR_DEVICE_LOST);
    void* memory = nullptr;
    EXPECT_EQ(allocate(10, &memory), ZE_RESULT_ERROR_DEVICE_LOST);
  }
  EXPECT_EQ(zeDeviceGetStatus(device_), ZE_RESULT_SUCCESS) << "the tests' way back";
  finish(list);
  EXPECT_EQ(*data, 2);
}

TEST_F(DriverFaults, a_device_is_lost_in_the_middle_of_a_command_list) {
  if (test_kernels().empty()) GTEST_SKIP() << "no clang-15 and llvm-spirv-15";
  int* data = shared<int>(1);
  *data = 0;
  const ze_kernel_handle_t add = kernel("add_number");
  set(add, 0, data);
  set(add, 1, 1);
  const ze_command_list_handle_t adds = list();
  const ze_group_count_t one{1, 1, 1};
  for (int i = 0; i < 5; ++i)
    ASSERT_EQ(zeCommandListAppendLaunchKernel(adds, add, &one, nullptr, 0, nullptr),
              ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(adds), ZE_RESULT_SUCCESS);
  const ze_command_queue_handle_t in = queue();
  ze_command_list_handle_t lists[] = {adds};
  {
    const Fault lost("ZE_OVER_OPENCL_LOST_AFTER_LAUNCHES", "3");
    EXPECT_EQ(zeCommandQueueExecuteCommandLists(in, 1, lists, nullptr), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandQueueSynchronize(in, 1000000), ZE_RESULT_ERROR_DEVICE_LOST);
    EXPECT_EQ(zeCommandQueueExecuteCommandLists(in, 1, lists, nullptr),
              ZE_RESULT_ERROR_DEVICE_LOST);
  }
  EXPECT_EQ(zeCommandQueueSynchronize(in, forever), ZE_RESULT_SUCCESS);
  EXPECT_EQ(*data, 3);
}

TEST_F(DriverFaults, events_come_late) {
  const Fault slow("ZE_OVER_OPENCL_EVENT_DELAY_MS", "200");
  using std::chrono::steady_clock;
  int* data = shared<int>(2);
  data[0] = 8;
  data[1] = 0;
  const ze_event_handle_t done = event();
  const ze_command_list_handle_t list = immediate();
  const auto start = steady_clock::now();
  ASSERT_EQ(zeCommandListAppendMemoryCopy(list, data + 1, data, 4, done, 0, nullptr),
            ZE_RESULT_SUCCESS);
  EXPECT_LT(steady_clock::now() - start, std::chrono::milliseconds(200)) << "it only comes late";
  ASSERT_EQ(zeEventHostSynchronize(done, forever), ZE_RESULT_SUCCESS);
  EXPECT_GE(steady_clock::now() - start, std::chrono::milliseconds(200));
  EXPECT_EQ(data[1], 8);
}

// As a device may, unless a barrier or an event forbids it.
TEST_F(DriverFaults, loose_order_runs_backwards_what_no_barrier_orders) {
  const Fault loose("ZE_OVER_OPENCL_LOOSE_ORDER", "1");
  int* data = shared<int>(1);
  const auto fill_twice = [data](ze_command_list_handle_t list, bool with_barrier) {
    for (const int number : {1, 2}) {
      EXPECT_EQ(zeCommandListAppendMemoryFill(list, data, &number, 4, 4, nullptr, 0, nullptr),
                ZE_RESULT_SUCCESS);
      if (with_barrier) {
        EXPECT_EQ(zeCommandListAppendBarrier(list, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
      }
    }
  };
  for (const bool with_barrier : {false, true}) {
    const ze_command_list_handle_t at_once = immediate();
    fill_twice(at_once, with_barrier);
    finish(at_once);
    EXPECT_EQ(*data, with_barrier ? 2 : 1);

    *data = 0;
    ze_command_list_handle_t kept = list();
    fill_twice(kept, with_barrier);
    ASSERT_EQ(zeCommandListClose(kept), ZE_RESULT_SUCCESS);
    const ze_command_queue_handle_t in = queue();
    ASSERT_EQ(zeCommandQueueExecuteCommandLists(in, 1, &kept, nullptr), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandQueueSynchronize(in, forever), ZE_RESULT_SUCCESS);
    EXPECT_EQ(*data, with_barrier ? 2 : 1);
  }
}

TEST_F(DriverFaults, loose_order_keeps_the_arguments_of_a_launch) {
  if (test_kernels().empty()) GTEST_SKIP() << "no clang-15 and llvm-spirv-15";
  const Fault loose("ZE_OVER_OPENCL_LOOSE_ORDER", "1");
  int* data = shared<int>(1);
  *data = 0;
  const ze_kernel_handle_t add = kernel("add_number");
  const ze_command_list_handle_t list = immediate();
  const ze_group_count_t one{1, 1, 1};
  set(add, 0, data);
  for (const int number : {1, 10, 100}) {
    set(add, 1, number);
    ASSERT_EQ(zeCommandListAppendLaunchKernel(list, add, &one, nullptr, 0, nullptr),
              ZE_RESULT_SUCCESS);
  }
  finish(list);
  EXPECT_EQ(*data, 111);
}

}  // namespace
}  // namespace level_zero
