// needs: opencl
// Kernels of SPIR-V modules: their arguments, groups and properties.
#include <algorithm>
#include <cstring>

#include "machine.hpp"

namespace level_zero {
namespace {

class Kernels : public Machine {
 protected:
  void SetUp() override {
    Machine::SetUp();
    if (!IsSkipped() && test_kernels().empty()) GTEST_SKIP() << "no clang-15 and llvm-spirv-15";
  }
  // In an immediate list, and waited for.
  void run(ze_kernel_handle_t kernel, uint32_t groups) {
    const ze_command_list_handle_t list = immediate();
    const ze_group_count_t count{groups, 1, 1};
    ASSERT_EQ(zeCommandListAppendLaunchKernel(list, kernel, &count, nullptr, 0, nullptr),
              ZE_RESULT_SUCCESS);
    finish(list);
  }
};

TEST_F(Kernels, take_pointers_and_values) {
  float* from = shared<float>(64);
  auto* to = static_cast<float*>(device_memory(64 * sizeof(float)));
  for (int i = 0; i < 64; ++i) from[i] = static_cast<float>(i);
  const ze_kernel_handle_t scale = kernel("scale", 16);
  set(scale, 0, from);
  set(scale, 1, to);
  set(scale, 2, 2.5f);
  run(scale, 4);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(to[i], 2.5f * static_cast<float>(i));
}

TEST_F(Kernels, take_an_address_inside_of_an_allocation) {
  int* data = shared<int>(8);
  std::fill_n(data, 8, 0);
  const ze_kernel_handle_t add = kernel("add_number", 4);
  set(add, 0, data + 3);
  set(add, 1, 9);
  run(add, 1);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(data[i], i >= 3 && i < 7 ? 9 : 0);
}

TEST_F(Kernels, take_structures) {
  struct {
    int first;
    double second;
  } pair{3, 0.25};
  double* to = shared<double>(1);
  const ze_kernel_handle_t take = kernel("take_structure");
  set(take, 0, to);
  set(take, 1, pair);
  run(take, 1);
  EXPECT_EQ(*to, 3.25);
}

TEST_F(Kernels, take_memory_of_their_group) {
  int* data = shared<int>(32);
  for (int i = 0; i < 32; ++i) data[i] = i;
  const ze_kernel_handle_t reverse = kernel("reverse_group", 16);
  set(reverse, 0, data);
  ASSERT_EQ(zeKernelSetArgumentValue(reverse, 1, 16 * sizeof(int), nullptr), ZE_RESULT_SUCCESS);
  run(reverse, 2);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(data[i], i / 16 * 16 + 15 - i % 16);
}

TEST_F(Kernels, keep_the_arguments_that_a_launch_was_given_with) {
  int* data = shared<int>(2);
  data[0] = data[1] = 0;
  const ze_kernel_handle_t add = kernel("add_number");
  const ze_command_list_handle_t once = immediate(), kept = list();
  const ze_group_count_t one{1, 1, 1};
  set(add, 0, data);
  set(add, 1, 1);
  ASSERT_EQ(zeCommandListAppendLaunchKernel(once, add, &one, nullptr, 0, nullptr),
            ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListAppendLaunchKernel(kept, add, &one, nullptr, 0, nullptr),
            ZE_RESULT_SUCCESS);
  set(add, 0, data + 1);
  set(add, 1, 100);
  finish(once);
  ASSERT_EQ(zeCommandListClose(kept), ZE_RESULT_SUCCESS);
  ze_command_list_handle_t lists[] = {kept};
  const ze_command_queue_handle_t in = queue();
  ASSERT_EQ(zeCommandQueueExecuteCommandLists(in, 1, lists, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandQueueSynchronize(in, forever), ZE_RESULT_SUCCESS);
  EXPECT_EQ(data[0], 2);
  EXPECT_EQ(data[1], 0);
}

TEST_F(Kernels, wrong_arguments_are_refused) {
  const ze_kernel_handle_t add = kernel("add_number");
  int* data = shared<int>(1);
  const int64_t wide = 0;
  EXPECT_EQ(zeKernelSetArgumentValue(add, 2, 4, &wide),
            ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX);
  EXPECT_EQ(zeKernelSetArgumentValue(add, 0, 4, &data),
            ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE);
  EXPECT_EQ(zeKernelSetArgumentValue(add, 1, 8, &wide),
            ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE);
  EXPECT_EQ(zeKernelSetArgumentValue(add, 1, 4, nullptr), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  int local = 0;
  int* of_nobody = &local;
  EXPECT_EQ(zeKernelSetArgumentValue(add, 0, sizeof of_nobody, &of_nobody),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_F(Kernels, are_not_launched_without_their_arguments) {
  const ze_kernel_handle_t add = kernel("add_number");
  const ze_group_count_t one{1, 1, 1}, none{0, 1, 1};
  for (const ze_command_list_handle_t in : {immediate(), list()})
    EXPECT_EQ(zeCommandListAppendLaunchKernel(in, add, &one, nullptr, 0, nullptr),
              ZE_RESULT_ERROR_INVALID_ARGUMENT);
  set(add, 0, shared<int>(1));
  set(add, 1, 1);
  EXPECT_EQ(zeCommandListAppendLaunchKernel(immediate(), add, &none, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_F(Kernels, groups_must_fit) {
  const ze_kernel_handle_t add = kernel("add_number");
  EXPECT_EQ(zeKernelSetGroupSize(add, 0, 1, 1), ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION);
  EXPECT_EQ(zeKernelSetGroupSize(add, 1u << 20, 1u << 20, 1),
            ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION);
  const ze_kernel_desc_t description{ZE_STRUCTURE_TYPE_KERNEL_DESC, nullptr, 0, "only_in_fours"};
  ze_kernel_handle_t fours = nullptr;
  ASSERT_EQ(zeKernelCreate(module(test_kernels()), &description, &fours), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeKernelSetGroupSize(fours, 8, 1, 1), ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION);
  EXPECT_EQ(zeKernelSetGroupSize(fours, 4, 2, 1), ZE_RESULT_SUCCESS);
  uint32_t x = 0, y = 0, z = 0;
  ASSERT_EQ(zeKernelSuggestGroupSize(fours, 64, 64, 1, &x, &y, &z), ZE_RESULT_SUCCESS);
  EXPECT_EQ(x * 100 + y * 10 + z, 421u);
  EXPECT_EQ(zeKernelDestroy(fours), ZE_RESULT_SUCCESS);
}

TEST_F(Kernels, suggested_groups_divide_the_work) {
  const ze_kernel_handle_t add = kernel("add_number");
  for (const uint32_t size : {1u, 7u, 48u, 1000u, 1u << 20}) {
    uint32_t x = 0, y = 0, z = 0;
    ASSERT_EQ(zeKernelSuggestGroupSize(add, size, 6, 1, &x, &y, &z), ZE_RESULT_SUCCESS);
    EXPECT_EQ(size % x, 0u);
    EXPECT_EQ(6 % y, 0u);
    EXPECT_EQ(zeKernelSetGroupSize(add, x, y, z), ZE_RESULT_SUCCESS);
  }
}

TEST_F(Kernels, tell_of_themselves) {
  const ze_kernel_handle_t scale = kernel("scale");
  ze_kernel_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES;
  ASSERT_EQ(zeKernelGetProperties(scale, &properties), ZE_RESULT_SUCCESS);
  EXPECT_EQ(properties.numKernelArgs, 3u);
  EXPECT_EQ(properties.requiredGroupSizeX, 0u);
  size_t bytes = 0;
  ASSERT_EQ(zeKernelGetName(scale, &bytes, nullptr), ZE_RESULT_SUCCESS);
  std::string name(bytes, '\0');
  ASSERT_EQ(zeKernelGetName(scale, &bytes, name.data()), ZE_RESULT_SUCCESS);
  EXPECT_STREQ(name.c_str(), "scale");
}

}  // namespace
}  // namespace level_zero
