// Numbers to a device and back, on a stream of the caller's: for tests with several of them at once.
#pragma once

#include <gtest/gtest.h>
#include <vector>

#include "sdk/fake_host.hpp"

namespace fake {

// `rounds` times, in memory of their own; `first` tells one caller's numbers from another's.
inline void expect_round_trips(Device& device, bp_stream* stream, int first, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const bp_handle handle = device.allocate(256);
    const std::vector<int> sent(64, first + i);
    std::vector<int> got(64);
    EXPECT_EQ(device.from_host(handle, sent.data(), 256, stream), BP_OK);
    EXPECT_EQ(device.to_host(got.data(), handle, 256, stream), BP_OK);
    EXPECT_EQ(device.synchronize(stream), BP_OK);
    EXPECT_EQ(got, sent);
    device.release(handle);
  }
}

}  // namespace fake
