// needs: level_zero
// Memory of the Level Zero backend: copies in all directions, fills, kinds, exhaustion.
#include <numeric>

#include "backends/level_zero/direct_device.hpp"

namespace {

class LevelZeroMemory : public direct::LevelZero {};

std::vector<uint8_t> count_up(size_t count) {
  std::vector<uint8_t> bytes(count);
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  return bytes;
}

bp_device_info info_of(const fake::Plugin& plugin) {
  uint32_t count = 0;
  EXPECT_EQ(plugin->devices(plugin->self, &count, nullptr), BP_OK);
  std::vector<bp_device_info> infos(count);
  for (bp_device_info& info : infos) info.h = {sizeof info, BP_TYPE_DEVICE_INFO, nullptr};
  EXPECT_EQ(plugin->devices(plugin->self, &count, infos.data()), BP_OK);
  return infos.at(0);
}

TEST_P(LevelZeroMemory, says_what_the_device_is) {
  const bp_device_info info = info_of(on().plugin);
  EXPECT_STRNE(info.name, "");
  EXPECT_GT(info.total_memory, uint64_t{1} << 20);
  EXPECT_GT(info.max_allocation, uint64_t{1} << 20);
  EXPECT_EQ(info.flags, BP_DEVICE_CAN_SUBALLOCATE | BP_DEVICE_REAL_ADDRESSES);
}

TEST_P(LevelZeroMemory, copies_in_all_directions_at_offsets) {
  const std::vector<uint8_t> sent = count_up(1000);
  std::vector<uint8_t> got(900, 0xee);
  const bp_handle first = device().allocate(1100), second = device().allocate(2000);
  const auto host_side = [](const uint8_t* bytes, uint64_t offset, uint64_t count) {
    return bp_region{reinterpret_cast<uintptr_t>(bytes), offset, count};
  };
  ASSERT_EQ(device().copy({first, 100, 990}, host_side(sent.data(), 10, 990), BP_COPY_FROM_HOST),
            BP_OK);
  ASSERT_EQ(device().copy({second, 703, 990}, {first, 100, 990}, BP_COPY_WITHIN), BP_OK);
  ASSERT_EQ(device().copy(host_side(got.data(), 5, 800), {second, 713, 800}, BP_COPY_TO_HOST),
            BP_OK);
  ASSERT_EQ(device().synchronize(), BP_OK);
  EXPECT_TRUE(std::equal(sent.begin() + 20, sent.begin() + 820, got.begin() + 5));
  EXPECT_EQ(got[4], 0xee);
  EXPECT_EQ(got[805], 0xee);
  device().release(first);
  device().release(second);
}

TEST_P(LevelZeroMemory, copies_many_megabytes_whole_with_and_without_staging) {
  for (const char* staging : {"0", "1"}) {
    const direct::Variable chosen("BACKPLANE_LEVEL_ZERO_STAGING", staging);
    reopen();
    std::vector<uint32_t> sent((17 << 20) / 4 + 3);
    for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<uint32_t>(i * 2654435761u);
    const bp_handle handle = on().upload(sent);
    EXPECT_TRUE(on().download<uint32_t>(handle, sent.size()) == sent) << staging;
    device().release(handle);
  }
}

TEST_P(LevelZeroMemory, allocations_lie_at_multiples_of_what_was_asked_for) {
  for (const uint64_t alignment : {1u, 64u, 256u, 4096u}) {
    bp_handle handles[3] = {};
    for (bp_handle& handle : handles) {
      ASSERT_EQ(on().memory().allocate(device().get(), 100, alignment, &handle), BP_OK)
          << fake::Host::last_message();
      EXPECT_EQ(handle % alignment, 0u);
    }
    for (const bp_handle handle : handles) device().release(handle);
  }
}

TEST_P(LevelZeroMemory, fills_with_a_pattern_of_every_width) {
  for (const uint32_t width : {1u, 2u, 4u, 8u, 16u}) {
    const bp_handle handle = on().upload(std::vector<uint8_t>(160, 0));
    const std::vector<uint8_t> pattern = count_up(width + 1);
    const bp_region to{handle, 2 * width, 64};
    ASSERT_EQ(on().memory().fill(device().get(), &to, pattern.data() + 1, width, nullptr), BP_OK);
    const std::vector<uint8_t> got = on().download<uint8_t>(handle, 160);
    for (uint32_t i = 0; i < 160; ++i) {
      const bool inside = i >= 2 * width && i < 2 * width + 64;
      ASSERT_EQ(got[i], inside ? (i - 2 * width) % width + 1 : 0) << width << " at " << i;
    }
    device().release(handle);
  }
}

TEST_P(LevelZeroMemory, fills_where_the_pattern_does_not_divide_the_place) {
  const bp_handle handle = on().upload(std::vector<uint8_t>(100, 9));
  const uint32_t pattern = 0x04030201;
  const bp_region to{handle, 3, 90};
  ASSERT_EQ(on().memory().fill(device().get(), &to, &pattern, 4, nullptr), BP_OK);
  const std::vector<uint8_t> got = on().download<uint8_t>(handle, 100);
  EXPECT_EQ(got[2], 9);
  EXPECT_EQ(got[3], 1);
  EXPECT_EQ(got[92], 2);
  EXPECT_EQ(got[93], 9);
  device().release(handle);
}

TEST_P(LevelZeroMemory, refuses_a_pattern_of_three_bytes) {
  const bp_handle handle = device().allocate(64);
  const bp_region to{handle, 0, 63};
  EXPECT_EQ(on().memory().fill(device().get(), &to, "abc", 3, nullptr), BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(),
            "fill: a pattern of 3 bytes; 1, 2, 4, 8 or 16 are possible");
  device().release(handle);
}

TEST_P(LevelZeroMemory, an_allocation_beyond_the_device_is_out_of_memory) {
  bp_handle handle = 0;
  EXPECT_EQ(on().memory().allocate(device().get(), uint64_t{1} << 60, 64, &handle),
            BP_OUT_OF_MEMORY);
  EXPECT_EQ(handle, 0u);
  EXPECT_THAT(fake::Host::last_message(),
              testing::StartsWith("1152921504606846976 bytes asked for; one allocation"));
}

TEST_P(LevelZeroMemory, shared_and_host_memory_can_be_read_in_place) {
  for (const char* kind : {"shared", "host"}) {
    const direct::Variable chosen("BACKPLANE_LEVEL_ZERO_MEMORY", kind);
    reopen();
    EXPECT_TRUE(info_of(on().plugin).flags & BP_DEVICE_HOST_READABLE) << kind;
    const bp_handle handle = on().upload(std::vector<int>{1, 2, 3});
    int* const values = reinterpret_cast<int*>(handle);
    EXPECT_EQ(values[2], 3) << kind;
    values[0] = 7;
    EXPECT_EQ(on().download<int>(handle, 3), (std::vector<int>{7, 2, 3})) << kind;
    device().release(handle);
  }
}

TEST_P(LevelZeroMemory, an_unknown_kind_is_the_devices_own_and_told) {
  const direct::Variable chosen("BACKPLANE_LEVEL_ZERO_MEMORY", "purple");
  reopen();
  EXPECT_FALSE(info_of(on().plugin).flags & BP_DEVICE_HOST_READABLE);
  EXPECT_THAT(on().host.log_lines(), testing::Contains(testing::HasSubstr("'purple'")));
}

BP_BOTH_KINDS_OF_LISTS(LevelZeroMemory);

}  // namespace
