// needs: opencl
// Kinds of memory, and commands that move and fill it.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "machine.hpp"

namespace level_zero {
namespace {

class Memory : public Machine {
 protected:
  ze_memory_allocation_properties_t properties_of(const void* address,
                                                  ze_device_handle_t* device = nullptr) {
    ze_memory_allocation_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
    EXPECT_EQ(zeMemGetAllocProperties(context_, address, &properties, device), ZE_RESULT_SUCCESS);
    return properties;
  }
  ze_result_t allocate(size_t bytes, size_t alignment = 0) {
    const ze_device_mem_alloc_desc_t description{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr,
                                                 0, 0};
    void* memory = nullptr;
    return zeMemAllocDevice(context_, &description, bytes, alignment, device_, &memory);
  }
};

TEST_F(Memory, each_kind_is_known_by_its_address) {
  const ze_host_mem_alloc_desc_t of_host{ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
  void* host = nullptr;
  ASSERT_EQ(zeMemAllocHost(context_, &of_host, 100, 64, &host), ZE_RESULT_SUCCESS);
  ze_device_handle_t device = device_;
  EXPECT_EQ(properties_of(host, &device).type, ZE_MEMORY_TYPE_HOST);
  EXPECT_EQ(device, nullptr);

  char* on_device = static_cast<char*>(device_memory(100));
  EXPECT_EQ(properties_of(on_device + 99, &device).type, ZE_MEMORY_TYPE_DEVICE);
  EXPECT_EQ(device, device_);
  EXPECT_EQ(properties_of(shared<int>(1)).type, ZE_MEMORY_TYPE_SHARED);
  int local = 0;
  EXPECT_EQ(properties_of(&local).type, ZE_MEMORY_TYPE_UNKNOWN);
  EXPECT_EQ(properties_of(on_device + 100).id == properties_of(on_device).id, false);
  EXPECT_EQ(zeMemFree(context_, host), ZE_RESULT_SUCCESS);
  EXPECT_EQ(properties_of(host).type, ZE_MEMORY_TYPE_UNKNOWN) << "it is no longer there";
}

TEST_F(Memory, an_address_leads_to_its_range) {
  char* memory = static_cast<char*>(device_memory(1000));
  void* start = nullptr;
  size_t bytes = 0;
  ASSERT_EQ(zeMemGetAddressRange(context_, memory + 500, &start, &bytes), ZE_RESULT_SUCCESS);
  EXPECT_EQ(start, memory);
  EXPECT_EQ(bytes, 1000u);
  EXPECT_EQ(zeMemGetAddressRange(context_, &bytes, &start, nullptr),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_F(Memory, is_aligned_as_asked_for) {
  for (const size_t alignment : {1u, 64u, 128u, 4096u, 1u << 20})
    EXPECT_EQ(reinterpret_cast<uintptr_t>(device_memory(10, alignment)) % alignment, 0u);
}

TEST_F(Memory, impossible_sizes_are_refused) {
  EXPECT_EQ(allocate(0), ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  EXPECT_EQ(allocate(SIZE_MAX), ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  EXPECT_EQ(allocate(16, 48), ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
  int local = 0;
  EXPECT_EQ(zeMemFree(context_, &local), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeMemFree(context_, nullptr), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
}

TEST_F(Memory, copies_go_from_and_to_memory_of_the_host) {
  std::vector<int> from(1000), to(1000);
  std::iota(from.begin(), from.end(), 5);
  void* between = device_memory(4000);
  const ze_command_list_handle_t list = immediate();
  ASSERT_EQ(zeCommandListAppendMemoryCopy(list, between, from.data(), 4000, nullptr, 0, nullptr),
            ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListAppendBarrier(list, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListAppendMemoryCopy(list, to.data(), between, 4000, nullptr, 0, nullptr),
            ZE_RESULT_SUCCESS);
  finish(list);
  EXPECT_EQ(from, to);
}

TEST_F(Memory, copies_onto_themselves_are_refused) {
  char* memory = static_cast<char*>(device_memory(100));
  const ze_command_list_handle_t list = immediate();
  for (const int distance : {-9, 0, 9})
    EXPECT_EQ(zeCommandListAppendMemoryCopy(list, memory + 50 + distance, memory + 50, 10, nullptr,
                                            0, nullptr),
              ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  for (const int distance : {-10, 10})
    EXPECT_EQ(zeCommandListAppendMemoryCopy(list, memory + 50 + distance, memory + 50, 10, nullptr,
                                            0, nullptr),
              ZE_RESULT_SUCCESS);
  finish(list);
}

TEST_F(Memory, is_filled_with_patterns_of_all_sizes) {
  const ze_command_list_handle_t list = immediate();
  unsigned char pattern[128];
  std::iota(pattern, pattern + 128, 1);
  auto* memory = shared<unsigned char>(1000);
  for (size_t size = 1; size <= 128; size *= 2)
    for (const size_t offset : {0, 3}) {
      const size_t bytes = 5 * size + (offset != 0 ? size / 2 : 0);  // also a part of it
      std::memset(memory, 0, 1000);
      ASSERT_EQ(zeCommandListAppendMemoryFill(list, memory + offset, pattern, size, bytes, nullptr,
                                              0, nullptr),
                ZE_RESULT_SUCCESS);
      finish(list);
      for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(memory[offset + i], pattern[i % size]) << size;
      EXPECT_EQ(memory[offset + bytes], 0);
    }
}

TEST_F(Memory, patterns_of_other_sizes_are_refused) {
  void* memory = device_memory(1000);
  const ze_command_list_handle_t list = immediate();
  const char pattern[256] = {};
  for (const size_t size : {0, 3, 256})
    EXPECT_EQ(zeCommandListAppendMemoryFill(list, memory, pattern, size, 768, nullptr, 0, nullptr),
              ZE_RESULT_ERROR_INVALID_SIZE);
}

TEST_F(Memory, boxes_are_copied_between_pitches) {
  // Two slices of three rows of four bytes, from the middle of 4 x 5 x 8 into 2 x 3 x 4.
  auto* from = shared<unsigned char>(4 * 5 * 8);
  auto* to = shared<unsigned char>(2 * 3 * 4);
  std::iota(from, from + 4 * 5 * 8, 0);
  const ze_copy_region_t source{1, 2, 1, 4, 3, 2}, target{0, 0, 0, 4, 3, 2};
  const ze_command_list_handle_t list = immediate();
  ASSERT_EQ(zeCommandListAppendMemoryCopyRegion(list, to, &target, 4, 12, from, &source, 8, 40,
                                                nullptr, 0, nullptr),
            ZE_RESULT_SUCCESS);
  finish(list);
  for (int z = 0; z < 2; ++z)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 4; ++x)
        EXPECT_EQ(to[z * 12 + y * 4 + x], from[(z + 1) * 40 + (y + 2) * 8 + x + 1]);
}

TEST_F(Memory, nothing_is_copied_to_nowhere) {
  const ze_command_list_handle_t list = immediate();
  void* memory = device_memory(8);
  EXPECT_EQ(zeCommandListAppendMemoryCopy(list, nullptr, memory, 8, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  EXPECT_EQ(zeCommandListAppendMemoryCopy(nullptr, memory, memory, 8, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
}

}  // namespace
}  // namespace level_zero
