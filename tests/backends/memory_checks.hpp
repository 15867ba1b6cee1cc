// What a backend's memory does, whatever its handles are: asked of a device.
#pragma once

#include <algorithm>
#include <numeric>

#include "backends/direct_device.hpp"

namespace direct {

// 0, 1, 2 ...
inline std::vector<uint8_t> counting(size_t count) {
  std::vector<uint8_t> bytes(count);
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  return bytes;
}

// Of all devices of the plugin.
inline std::vector<bp_device_info> infos_of(const fake::Plugin& plugin) {
  uint32_t count = 0;
  EXPECT_EQ(plugin->devices(plugin->self, &count, nullptr), BP_OK);
  EXPECT_GE(count, 1u);
  std::vector<bp_device_info> infos(count);
  for (bp_device_info& info : infos) info.h = {sizeof info, BP_TYPE_DEVICE_INFO, nullptr};
  EXPECT_EQ(plugin->devices(plugin->self, &count, infos.data()), BP_OK);
  return infos;
}

// True of every asynchronous device with memory of its own.
inline void expect_names_and_sizes(const bp_device_info& info) {
  EXPECT_STRNE(info.name, "");
  EXPECT_GT(info.total_memory, uint64_t{1} << 20);
  EXPECT_GT(info.max_allocation, uint64_t{1} << 20);
  EXPECT_LE(info.max_allocation, info.total_memory);
  EXPECT_TRUE(info.flags & BP_DEVICE_CAN_SUBALLOCATE);
  EXPECT_FALSE(info.flags & BP_DEVICE_SYNCHRONOUS);
}

inline void expect_copies_in_all_directions_at_offsets(DirectDevice& on) {
  fake::Device& device = on.opened();
  const std::vector<uint8_t> sent = counting(1000);
  std::vector<uint8_t> got(900, 0xee);
  const bp_handle first = device.allocate(1100), second = device.allocate(2000);
  const auto host_side = [](const uint8_t* bytes, uint64_t offset, uint64_t count) {
    return bp_region{reinterpret_cast<uintptr_t>(bytes), offset, count};
  };
  ASSERT_EQ(device.copy({first, 100, 990}, host_side(sent.data(), 10, 990), BP_COPY_FROM_HOST),
            BP_OK);
  ASSERT_EQ(device.copy({second, 703, 990}, {first, 100, 990}, BP_COPY_WITHIN), BP_OK);
  ASSERT_EQ(device.copy(host_side(got.data(), 5, 800), {second, 713, 800}, BP_COPY_TO_HOST), BP_OK);
  ASSERT_EQ(device.synchronize(), BP_OK);
  EXPECT_TRUE(std::equal(sent.begin() + 20, sent.begin() + 820, got.begin() + 5));
  EXPECT_EQ(got[4], 0xee);
  EXPECT_EQ(got[805], 0xee);
  device.release(first);
  device.release(second);
}

inline void expect_copies_within_one_allocation(DirectDevice& on) {
  const bp_handle handle = on.upload(counting(256));
  ASSERT_EQ(on.opened().copy({handle, 128, 100}, {handle, 10, 100}, BP_COPY_WITHIN), BP_OK);
  const std::vector<uint8_t> got = on.download<uint8_t>(handle, 256);
  EXPECT_EQ(got[127], 127);
  EXPECT_EQ(got[128], 10);
  EXPECT_EQ(got[227], 109);
  EXPECT_EQ(got[228], 228);
  on.opened().release(handle);
}

inline void expect_a_copy_arrives_whole(DirectDevice& on, size_t num_words) {
  std::vector<uint32_t> sent(num_words);
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<uint32_t>(i * 2654435761u);
  const bp_handle handle = on.upload(sent);
  EXPECT_TRUE(on.download<uint32_t>(handle, sent.size()) == sent);
  on.opened().release(handle);
}

inline void expect_fills_with_a_pattern_of_every_width(DirectDevice& on) {
  for (const uint32_t width : {1u, 2u, 4u, 8u, 16u}) {
    const bp_handle handle = on.upload(std::vector<uint8_t>(160, 0));
    const std::vector<uint8_t> pattern = counting(width + 1);
    const bp_region to{handle, 2 * width, 64};
    ASSERT_EQ(on.memory().fill(on.opened().get(), &to, pattern.data() + 1, width, nullptr), BP_OK);
    const std::vector<uint8_t> got = on.download<uint8_t>(handle, 160);
    for (uint32_t i = 0; i < 160; ++i) {
      const bool inside = i >= 2 * width && i < 2 * width + 64;
      ASSERT_EQ(got[i], inside ? (i - 2 * width) % width + 1 : 0) << width << " at " << i;
    }
    on.opened().release(handle);
  }
}

inline void expect_fills_where_the_pattern_does_not_divide_the_place(DirectDevice& on) {
  const bp_handle handle = on.upload(std::vector<uint8_t>(100, 9));
  const uint32_t pattern = 0x04030201;
  const bp_region to{handle, 3, 90};
  ASSERT_EQ(on.memory().fill(on.opened().get(), &to, &pattern, 4, nullptr), BP_OK);
  const std::vector<uint8_t> got = on.download<uint8_t>(handle, 100);
  EXPECT_EQ(got[2], 9);
  EXPECT_EQ(got[3], 1);
  EXPECT_EQ(got[92], 2);
  EXPECT_EQ(got[93], 9);
  on.opened().release(handle);
}

inline void expect_a_pattern_of_three_bytes_is_refused(DirectDevice& on) {
  const bp_handle handle = on.opened().allocate(64);
  const bp_region to{handle, 0, 63};
  EXPECT_EQ(on.memory().fill(on.opened().get(), &to, "abc", 3, nullptr), BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(),
            "fill: a pattern of 3 bytes; 1, 2, 4, 8 or 16 are possible");
  on.opened().release(handle);
}

// What the message says beside the size is the backend's own.
inline void expect_an_allocation_beyond_the_device_is_out_of_memory(DirectDevice& on) {
  bp_handle handle = 0;
  EXPECT_EQ(on.memory().allocate(on.opened().get(), uint64_t{1} << 60, 64, &handle),
            BP_OUT_OF_MEMORY);
  EXPECT_EQ(handle, 0u);
  EXPECT_NE(fake::Host::last_message().find("1152921504606846976 bytes asked for"),
            std::string::npos)
      << fake::Host::last_message();
}

}  // namespace direct
