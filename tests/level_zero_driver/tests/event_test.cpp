// needs: opencl
// Events: set and awaited by the host and by commands of several queues; times.
#include <chrono>
#include <cstring>
#include <thread>

#include "machine.hpp"

namespace level_zero {
namespace {

class Events : public Machine {
 protected:
  // Copies one number into another, in its order.
  static ze_result_t copy(ze_command_list_handle_t list, int* to, const int* from,
                          ze_event_handle_t signal, std::vector<ze_event_handle_t> waits = {}) {
    return zeCommandListAppendMemoryCopy(list, to, from, sizeof(int), signal,
                                         static_cast<uint32_t>(waits.size()), waits.data());
  }
};

TEST_F(Events, are_set_and_reset_by_the_host) {
  const ze_event_handle_t flag = event();
  EXPECT_EQ(zeEventQueryStatus(flag), ZE_RESULT_NOT_READY);
  EXPECT_EQ(zeEventHostSynchronize(flag, 0), ZE_RESULT_NOT_READY);
  EXPECT_EQ(zeEventHostSynchronize(flag, 2000000), ZE_RESULT_NOT_READY);
  EXPECT_EQ(zeEventHostSignal(flag), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventQueryStatus(flag), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventHostSynchronize(flag, forever), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventHostReset(flag), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventQueryStatus(flag), ZE_RESULT_NOT_READY);
}

TEST_F(Events, of_the_host_start_work_that_waits) {
  int* data = shared<int>(2);
  data[0] = 7;
  data[1] = 0;
  const ze_event_handle_t start = event(), done = event();
  const ze_command_list_handle_t list = immediate();
  ASSERT_EQ(copy(list, data + 1, data, done, {start}), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventHostSynchronize(done, 5000000), ZE_RESULT_NOT_READY);
  EXPECT_EQ(data[1], 0);
  ASSERT_EQ(zeEventHostSignal(start), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeEventHostSynchronize(done, forever), ZE_RESULT_SUCCESS);
  EXPECT_EQ(data[1], 7);
}

// The second queue's work is given first, when nobody has yet promised to set its event.
TEST_F(Events, order_work_of_several_queues_whichever_is_given_first) {
  int* data = shared<int>(3);
  for (const bool waiting_first : {true, false}) {
    data[0] = 9;
    data[1] = data[2] = 0;
    const ze_event_handle_t start = event(), between = event(), done = event();
    const ze_command_list_handle_t first = immediate(), second = immediate();
    if (waiting_first) {
      ASSERT_EQ(copy(second, data + 2, data + 1, done, {between}), ZE_RESULT_SUCCESS);
    }
    ASSERT_EQ(copy(first, data + 1, data, between, {start}), ZE_RESULT_SUCCESS);
    if (!waiting_first) {
      ASSERT_EQ(copy(second, data + 2, data + 1, done, {between}), ZE_RESULT_SUCCESS);
    }
    EXPECT_EQ(zeEventQueryStatus(done), ZE_RESULT_NOT_READY);
    ASSERT_EQ(zeEventHostSignal(start), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeEventHostSynchronize(done, forever), ZE_RESULT_SUCCESS);
    EXPECT_EQ(data[2], 9) << waiting_first;
    EXPECT_EQ(zeEventQueryStatus(between), ZE_RESULT_SUCCESS);
  }
}

TEST_F(Events, several_are_awaited_together) {
  const ze_event_handle_t first = event(), second = event(), done = event();
  const ze_command_list_handle_t list = immediate();
  ze_event_handle_t both[] = {first, second};
  ASSERT_EQ(zeCommandListAppendWaitOnEvents(list, 2, both), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListAppendSignalEvent(list, done), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeEventHostSignal(second), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventHostSynchronize(done, 2000000), ZE_RESULT_NOT_READY);
  ASSERT_EQ(zeEventHostSignal(first), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventHostSynchronize(done, forever), ZE_RESULT_SUCCESS);
}

TEST_F(Events, that_are_set_already_stay_set) {
  const ze_event_handle_t start = event(), flag = event();
  const ze_command_list_handle_t list = immediate();
  ASSERT_EQ(zeEventHostSignal(flag), ZE_RESULT_SUCCESS);
  ze_event_handle_t waits[] = {start};
  ASSERT_EQ(zeCommandListAppendWaitOnEvents(list, 1, waits), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListAppendSignalEvent(list, flag), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventQueryStatus(flag), ZE_RESULT_SUCCESS) << "nobody has reset it";
  ASSERT_EQ(zeEventHostSignal(start), ZE_RESULT_SUCCESS);
  finish(list);
}

TEST_F(Events, are_reset_by_a_command_list_and_set_anew_each_time) {
  int* data = shared<int>(2);
  const ze_event_handle_t done = event();
  const ze_command_list_handle_t steps = list();
  ASSERT_EQ(zeCommandListAppendEventReset(steps, done), ZE_RESULT_SUCCESS);
  ASSERT_EQ(copy(steps, data + 1, data, done), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(steps), ZE_RESULT_SUCCESS);
  const ze_command_queue_handle_t in = queue();
  ze_command_list_handle_t lists[] = {steps};
  for (int i = 1; i <= 20; ++i) {
    data[0] = i;
    ASSERT_EQ(zeCommandQueueExecuteCommandLists(in, 1, lists, nullptr), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeEventHostSynchronize(done, forever), ZE_RESULT_SUCCESS);
    ASSERT_EQ(data[1], i);
  }
}

TEST_F(Events, wake_a_thread_that_waits) {
  const ze_event_handle_t start = event(), done = event();
  std::thread waiting([&] { EXPECT_EQ(zeEventHostSynchronize(done, forever), ZE_RESULT_SUCCESS); });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const ze_command_list_handle_t list = immediate();
  ze_event_handle_t waits[] = {start};
  ASSERT_EQ(zeCommandListAppendBarrier(list, done, 1, waits), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeEventHostSignal(start), ZE_RESULT_SUCCESS);
  waiting.join();
}

TEST_F(Events, tell_when_their_work_ran) {
  const auto flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
  const ze_event_handle_t first = event(flags), second = event(flags);
  const ze_command_list_handle_t list = immediate();
  ze_kernel_timestamp_result_t times[2] = {};
  EXPECT_EQ(zeEventQueryKernelTimestamp(first, times), ZE_RESULT_NOT_READY);
  std::vector<char> from(1 << 22, 'x');
  void* to = device_memory(from.size());
  uint64_t host = 0, before = 0, after = 0;
  ASSERT_EQ(zeDeviceGetGlobalTimestamps(device_, &host, &before), ZE_RESULT_SUCCESS);
  for (const ze_event_handle_t done : {first, second}) {
    ASSERT_EQ(zeCommandListAppendMemoryCopy(list, to, from.data(), from.size(), done, 0, nullptr),
              ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandListAppendBarrier(list, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  }
  ASSERT_EQ(zeEventHostSynchronize(second, forever), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeDeviceGetGlobalTimestamps(device_, &host, &after), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeEventQueryKernelTimestamp(first, &times[0]), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeEventQueryKernelTimestamp(second, &times[1]), ZE_RESULT_SUCCESS);
  const uint64_t in_order[] = {before,
                               times[0].global.kernelStart,
                               times[0].global.kernelEnd,
                               times[1].global.kernelStart,
                               times[1].global.kernelEnd,
                               after};
  for (int i = 0; i < 5; ++i) EXPECT_LE(in_order[i], in_order[i + 1]) << i;
  EXPECT_GT(times[0].context.kernelEnd, times[0].context.kernelStart);
}

TEST_F(Events, times_are_written_by_commands_too) {
  const auto flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
  ze_event_handle_t copied = event(flags);
  int* data = shared<int>(2);
  auto* result = shared<ze_kernel_timestamp_result_t>(1);
  auto* now = shared<uint64_t>(1);
  const ze_command_list_handle_t list = immediate();
  ASSERT_EQ(copy(list, data + 1, data, copied), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListAppendQueryKernelTimestamps(list, 1, &copied, result, nullptr, nullptr, 1,
                                                     &copied),
            ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListAppendBarrier(list, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListAppendWriteGlobalTimestamp(list, now, nullptr, 0, nullptr),
            ZE_RESULT_SUCCESS);
  finish(list);
  ze_kernel_timestamp_result_t expected{};
  ASSERT_EQ(zeEventQueryKernelTimestamp(copied, &expected), ZE_RESULT_SUCCESS);
  EXPECT_EQ(result->global.kernelStart, expected.global.kernelStart);
  EXPECT_EQ(result->context.kernelEnd, expected.context.kernelEnd);
  EXPECT_GE(*now, expected.global.kernelEnd);
}

TEST_F(Events, without_times_are_asked_for_them_in_vain) {
  const ze_event_handle_t flag = event();
  ASSERT_EQ(zeEventHostSignal(flag), ZE_RESULT_SUCCESS);
  ze_kernel_timestamp_result_t times{};
  EXPECT_EQ(zeEventQueryKernelTimestamp(flag, &times), ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_F(Events, have_each_a_place_in_their_pool) {
  const ze_event_pool_desc_t of_pool{ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr,
                                     ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 2};
  ze_event_pool_handle_t pool = nullptr;
  ASSERT_EQ(zeEventPoolCreate(context_, &of_pool, 0, nullptr, &pool), ZE_RESULT_SUCCESS);
  ze_event_desc_t description{ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, 2, 0, 0};
  ze_event_handle_t first = nullptr, second = nullptr;
  EXPECT_EQ(zeEventCreate(pool, &description, &first), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  description.index = 1;
  ASSERT_EQ(zeEventCreate(pool, &description, &first), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventCreate(pool, &description, &second), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  ASSERT_EQ(zeEventDestroy(first), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeEventCreate(pool, &description, &second), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeEventDestroy(second), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventPoolDestroy(pool), ZE_RESULT_SUCCESS);
}

TEST_F(Events, that_are_none_are_refused) {
  const ze_command_list_handle_t list = immediate();
  ze_event_handle_t none[] = {nullptr};
  EXPECT_EQ(zeCommandListAppendBarrier(list, nullptr, 1, none),
            ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  EXPECT_EQ(zeCommandListAppendBarrier(list, nullptr, 1, nullptr), ZE_RESULT_ERROR_INVALID_SIZE);
  EXPECT_EQ(zeCommandListAppendSignalEvent(list, nullptr), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  EXPECT_EQ(zeEventQueryStatus(nullptr), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
}

}  // namespace
}  // namespace level_zero
