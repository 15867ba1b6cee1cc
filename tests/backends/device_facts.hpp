// What a backend says of its devices, asked through the ABI; and what every one must say of its free memory.
#pragma once

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "sdk/fake_host.hpp"

namespace direct {

// As the host asks: the NUMA node is unknown until the backend says it.
inline std::vector<bp_device_info> facts_of(const fake::Plugin& plugin) {
  uint32_t count = 0;
  EXPECT_EQ(plugin->devices(plugin->self, &count, nullptr), BP_OK);
  std::vector<bp_device_info> infos(count);
  for (bp_device_info& info : infos) {
    info.h = {sizeof info, BP_TYPE_DEVICE_INFO, nullptr};
    info.numa_node = -1;
  }
  EXPECT_EQ(plugin->devices(plugin->self, &count, infos.data()), BP_OK);
  return infos;
}

inline bool has_uuid(const bp_device_info& info) {
  const bp_device_info unknown{};
  return std::memcmp(info.uuid, unknown.uuid, sizeof info.uuid) != 0;
}

inline bp_space_info main_space(const fake::Plugin& plugin, const fake::Device& device) {
  bp_space_info info{};
  info.h = {sizeof info, BP_TYPE_SPACE_INFO, nullptr};
  EXPECT_EQ(plugin->memory->describe_space(device.get(), 0, &info), BP_OK)
      << fake::Host::last_message();
  EXPECT_STRNE(info.name, "");
  EXPECT_LE(info.free_bytes, info.total_bytes);
  return info;
}

inline void expect_no_space_beside_the_main_one(const fake::Plugin& plugin,
                                                const fake::Device& device) {
  bp_space_info info{};
  info.h = {sizeof info, BP_TYPE_SPACE_INFO, nullptr};
  EXPECT_EQ(plugin->memory->describe_space(device.get(), 1, &info), BP_BAD_ARGUMENT);
  EXPECT_NE(fake::Host::last_message(), "");
}

// A stream of each end of the range takes work.
inline void expect_streams_at_both_priorities(const fake::Device& device,
                                              const bp_device_info& info) {
  for (const int32_t priority : {info.least_priority, info.greatest_priority}) {
    bp_stream* stream = nullptr;
    ASSERT_EQ(device.queue().create_stream(device.get(), priority, &stream), BP_OK)
        << fake::Host::last_message();
    EXPECT_EQ(device.queue().synchronize(device.get(), stream), BP_OK);
    device.queue().destroy_stream(device.get(), stream);
  }
}

}  // namespace direct
