// needs: opencl
// Command lists, queues and fences.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "machine.hpp"

namespace level_zero {
namespace {

class CommandLists : public Machine {
 protected:
  void SetUp() override {
    Machine::SetUp();
    if (!IsSkipped() && test_kernels().empty()) GTEST_SKIP() << "no clang-15 and llvm-spirv-15";
  }
  ze_kernel_handle_t adding(int* data, int number) {
    const ze_kernel_handle_t add = kernel("add_number");
    set(add, 0, data);
    set(add, 1, number);
    return add;
  }
  // Closed; adds one when the event is set, and so runs as long as the test needs.
  ze_command_list_handle_t adding_after(ze_event_handle_t start, int* data) {
    const ze_command_list_handle_t made = list();
    EXPECT_EQ(zeCommandListAppendWaitOnEvents(made, 1, &start), ZE_RESULT_SUCCESS);
    EXPECT_EQ(launch(made, adding(data, 1)), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandListClose(made), ZE_RESULT_SUCCESS);
    return made;
  }
  static ze_result_t launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                            ze_event_handle_t signal = nullptr) {
    const ze_group_count_t one{1, 1, 1};
    return zeCommandListAppendLaunchKernel(list, kernel, &one, signal, 0, nullptr);
  }
  static ze_result_t execute(ze_command_queue_handle_t queue, ze_command_list_handle_t list,
                             ze_fence_handle_t fence = nullptr) {
    return zeCommandQueueExecuteCommandLists(queue, 1, &list, fence);
  }
};

TEST_F(CommandLists, run_only_when_executed_and_as_often_as_that) {
  int* data = shared<int>(1);
  *data = 0;
  const ze_command_list_handle_t adds = list();
  ASSERT_EQ(launch(adds, adding(data, 1)), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListAppendBarrier(adds, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(launch(adds, adding(data, 10)), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(adds), ZE_RESULT_SUCCESS);
  const ze_command_queue_handle_t first = queue(), second = queue();
  EXPECT_EQ(zeCommandQueueSynchronize(first, forever), ZE_RESULT_SUCCESS);
  EXPECT_EQ(*data, 0);
  for (const ze_command_queue_handle_t in : {first, first, second}) {
    ASSERT_EQ(execute(in, adds), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandQueueSynchronize(in, forever), ZE_RESULT_SUCCESS);
  }
  EXPECT_EQ(*data, 33);
}

TEST_F(CommandLists, hold_copies_and_fills_too) {
  auto* data = shared<int>(8);
  std::fill_n(data, 8, 0);
  const ze_command_list_handle_t steps = list();
  {
    const int five = 5;  // ends before the list is executed
    ASSERT_EQ(zeCommandListAppendMemoryFill(steps, data, &five, 4, 16, nullptr, 0, nullptr),
              ZE_RESULT_SUCCESS);
  }
  ASSERT_EQ(zeCommandListAppendBarrier(steps, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListAppendMemoryCopy(steps, data + 4, data, 16, nullptr, 0, nullptr),
            ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(steps), ZE_RESULT_SUCCESS);
  const ze_command_queue_handle_t in = queue(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  ASSERT_EQ(execute(in, steps), ZE_RESULT_SUCCESS);
  EXPECT_EQ(std::count(data, data + 8, 5), 8) << "a synchronous queue has ended by now";
}

TEST_F(CommandLists, must_be_closed_and_can_be_reset) {
  int* data = shared<int>(1);
  *data = 0;
  const ze_command_list_handle_t adds = list();
  const ze_command_queue_handle_t in = queue();
  const ze_kernel_handle_t one = adding(data, 1), ten = adding(data, 10);
  ASSERT_EQ(launch(adds, one), ZE_RESULT_SUCCESS);
  EXPECT_EQ(execute(in, adds), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  ASSERT_EQ(zeCommandListClose(adds), ZE_RESULT_SUCCESS);
  EXPECT_EQ(launch(adds, one), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  ASSERT_EQ(zeCommandListReset(adds), ZE_RESULT_SUCCESS);
  ASSERT_EQ(launch(adds, ten), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(adds), ZE_RESULT_SUCCESS);
  ASSERT_EQ(execute(in, adds), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandQueueSynchronize(in, forever), ZE_RESULT_SUCCESS);
  EXPECT_EQ(*data, 10);
}

TEST_F(CommandLists, immediate_ones_are_neither_closed_nor_executed) {
  const ze_command_list_handle_t at_once = immediate();
  EXPECT_EQ(zeCommandListClose(at_once), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeCommandListReset(at_once), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(execute(queue(), at_once), ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_F(CommandLists, an_immediate_one_returns_before_the_kernel_ends) {
  int* data = shared<int>(1);
  *data = 0;
  ze_event_handle_t start = event();
  const ze_event_handle_t done = event();
  const ze_command_list_handle_t at_once = immediate();
  const ze_group_count_t one{1, 1, 1};
  ASSERT_EQ(zeCommandListAppendLaunchKernel(at_once, adding(data, 1), &one, done, 1, &start),
            ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventQueryStatus(done), ZE_RESULT_NOT_READY);
  EXPECT_EQ(zeEventHostSynchronize(done, 1000), ZE_RESULT_NOT_READY);
  ASSERT_EQ(zeEventHostSignal(start), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventHostSynchronize(done, forever), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventQueryStatus(done), ZE_RESULT_SUCCESS);
  EXPECT_EQ(*data, 1);
}

TEST_F(CommandLists, a_synchronous_immediate_one_returns_after_it) {
  int* data = shared<int>(1);
  *data = 0;
  ASSERT_EQ(launch(immediate(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS), adding(data, 3)),
            ZE_RESULT_SUCCESS);
  EXPECT_EQ(*data, 3);
}

TEST_F(CommandLists, a_queue_is_waited_for_no_longer_than_asked) {
  int* data = shared<int>(1);
  *data = 0;
  const ze_event_handle_t start = event();
  const ze_command_list_handle_t adds = adding_after(start, data);
  const ze_command_queue_handle_t in = queue();
  EXPECT_EQ(zeCommandQueueSynchronize(in, 0), ZE_RESULT_SUCCESS) << "there is nothing in it";
  ASSERT_EQ(execute(in, adds), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueSynchronize(in, 0), ZE_RESULT_NOT_READY);
  EXPECT_EQ(zeCommandQueueSynchronize(in, 100000), ZE_RESULT_NOT_READY);
  ASSERT_EQ(zeEventHostSignal(start), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueSynchronize(in, forever), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueSynchronize(in, 0), ZE_RESULT_SUCCESS);
  EXPECT_EQ(*data, 1);
}

TEST_F(CommandLists, a_fence_is_set_by_the_end_of_its_execution) {
  int* data = shared<int>(1);
  *data = 0;
  const ze_event_handle_t start = event();
  const ze_command_list_handle_t adds = adding_after(start, data);
  const ze_command_queue_handle_t in = queue();
  const ze_fence_desc_t description{ZE_STRUCTURE_TYPE_FENCE_DESC, nullptr, 0};
  ze_fence_handle_t fence = nullptr;
  ASSERT_EQ(zeFenceCreate(in, &description, &fence), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeFenceQueryStatus(fence), ZE_RESULT_NOT_READY);
  for (int i = 1; i <= 2; ++i) {
    ASSERT_EQ(zeEventHostReset(start), ZE_RESULT_SUCCESS);
    ASSERT_EQ(execute(in, adds, fence), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeFenceQueryStatus(fence), ZE_RESULT_NOT_READY);
    ASSERT_EQ(zeEventHostSignal(start), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeFenceHostSynchronize(fence, forever), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeFenceQueryStatus(fence), ZE_RESULT_SUCCESS);
    EXPECT_EQ(*data, i);
    EXPECT_EQ(zeFenceReset(fence), ZE_RESULT_SUCCESS);
  }
  EXPECT_EQ(zeFenceDestroy(fence), ZE_RESULT_SUCCESS);
}

TEST_F(CommandLists, kernels_do_not_go_where_only_copies_go) {
  const ze_command_queue_desc_t description{
      ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, nullptr, 1, 0, 0, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
      ZE_COMMAND_QUEUE_PRIORITY_NORMAL};
  ze_command_list_handle_t copies = nullptr;
  ASSERT_EQ(zeCommandListCreateImmediate(context_, device_, &description, &copies),
            ZE_RESULT_SUCCESS);
  int* data = shared<int>(1);
  EXPECT_EQ(launch(copies, adding(data, 1)), ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE);
  const int two = 2;
  EXPECT_EQ(zeCommandListAppendMemoryFill(copies, data, &two, 4, 4, nullptr, 0, nullptr),
            ZE_RESULT_SUCCESS);
  finish(copies);
  EXPECT_EQ(*data, 2);
  EXPECT_EQ(zeCommandListDestroy(copies), ZE_RESULT_SUCCESS);

  ze_command_queue_handle_t copying = nullptr;
  ASSERT_EQ(zeCommandQueueCreate(context_, device_, &description, &copying), ZE_RESULT_SUCCESS);
  const ze_command_list_handle_t computing = list();
  ASSERT_EQ(zeCommandListClose(computing), ZE_RESULT_SUCCESS);
  EXPECT_EQ(execute(copying, computing), ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE);
  EXPECT_EQ(zeCommandQueueDestroy(copying), ZE_RESULT_SUCCESS);
}

TEST_F(CommandLists, queues_that_the_device_lacks_are_refused) {
  ze_command_queue_desc_t description{
      ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, nullptr, 2, 0, 0, ZE_COMMAND_QUEUE_MODE_DEFAULT,
      ZE_COMMAND_QUEUE_PRIORITY_NORMAL};
  ze_command_queue_handle_t made = nullptr;
  EXPECT_EQ(zeCommandQueueCreate(context_, device_, &description, &made),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
  description.ordinal = 0;
  description.index = 99;
  EXPECT_EQ(zeCommandQueueCreate(context_, device_, &description, &made),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

// Each thread with a list of its own; memory, events and queues may be shared.
TEST_F(CommandLists, several_threads_give_work_at_once) {
  constexpr int num_threads = 4, rounds = 50;
  int* data = shared<int>(num_threads);
  std::fill_n(data, num_threads, 0);
  const ze_command_queue_handle_t in = queue();
  std::vector<std::thread> threads;
  std::vector<ze_command_list_handle_t> adds, at_once;
  std::vector<ze_kernel_handle_t> kernels;
  for (int i = 0; i < num_threads; ++i) {
    kernels.push_back(adding(data + i, 1));
    at_once.push_back(immediate());
    adds.push_back(list());
    ASSERT_EQ(launch(adds[i], kernels[i]), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandListClose(adds[i]), ZE_RESULT_SUCCESS);
  }
  for (int i = 0; i < num_threads; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < rounds; ++round) {
        EXPECT_EQ(launch(at_once[i], kernels[i]), ZE_RESULT_SUCCESS);
        EXPECT_EQ(zeCommandListAppendBarrier(at_once[i], nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < num_threads; ++i) finish(at_once[i]);
  threads.clear();
  for (int i = 0; i < num_threads; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < rounds; ++round)
        EXPECT_EQ(execute(in, adds[i]), ZE_RESULT_SUCCESS);
      EXPECT_EQ(zeCommandQueueSynchronize(in, forever), ZE_RESULT_SUCCESS);
    });
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < num_threads; ++i) EXPECT_EQ(data[i], 2 * rounds);
}

}  // namespace
}  // namespace level_zero
