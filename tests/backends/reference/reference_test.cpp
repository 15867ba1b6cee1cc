// needs: reference
// The reference backend, reached directly through the ABI.
#include <chrono>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <backplane/extensions/reference.h>

#include "backends/round_trips.hpp"
#include "sdk/fake_host.hpp"

namespace {

using testing::Test;

class Reference : public Test {
 protected:
  const bp_reference_hooks& hooks() {
    return *reinterpret_cast<const bp_reference_hooks*>(
        plugin->extension(plugin->self, "reference.hooks", 1));
  }
  bp_stream* make_stream() {
    bp_stream* stream = nullptr;
    EXPECT_EQ(device.queue().create_stream(device.get(), 0, &stream), BP_OK);
    return stream;
  }
  bp_event* make_event() {
    bp_event* event = nullptr;
    EXPECT_EQ(device.queue().create_event(device.get(), &event), BP_OK);
    return event;
  }

  fake::Host host;
  fake::Plugin plugin{host, BP_PLUGIN_DIR "/libbackplane_reference.so"};
  fake::Device device{plugin, 0};
};

TEST_F(Reference, says_what_its_two_devices_are) {
  uint32_t count = 0;
  ASSERT_EQ(plugin->devices(plugin->self, &count, nullptr), BP_OK);
  ASSERT_EQ(count, 2u);
  bp_device_info infos[2] = {};
  for (bp_device_info& info : infos) info.h = {sizeof info, BP_TYPE_DEVICE_INFO, nullptr};
  ASSERT_EQ(plugin->devices(plugin->self, &count, infos), BP_OK);
  EXPECT_STREQ(infos[1].name, "software device 1");
  EXPECT_EQ(infos[1].flags, BP_DEVICE_CAN_SUBALLOCATE | BP_DEVICE_NO_HIDDEN_WAITS);
  EXPECT_EQ(infos[1].offset_alignment, 64u);
}

TEST_F(Reference, keeps_bytes_through_its_mask) {
  std::vector<uint8_t> sent(1000), got(1000);
  std::iota(sent.begin(), sent.end(), uint8_t{0});
  const bp_handle first = device.allocate(1000), second = device.allocate(2000);
  ASSERT_EQ(device.from_host(first, sent.data(), 1000), BP_OK);
  ASSERT_EQ(device.copy({second, 700, 1000}, {first, 0, 1000}, BP_COPY_WITHIN), BP_OK);
  ASSERT_EQ(device.copy({reinterpret_cast<uintptr_t>(got.data()), 0, 900}, {second, 800, 900},
                        BP_COPY_TO_HOST),
            BP_OK);
  ASSERT_EQ(device.synchronize(), BP_OK);
  EXPECT_TRUE(std::equal(sent.begin() + 100, sent.end(), got.begin()));
  device.release(first);
  device.release(second);
}

TEST_F(Reference, fills_with_a_pattern) {
  const bp_handle handle = device.allocate(100);
  const uint32_t pattern = 0xdeadbeef;
  const bp_region to{handle, 4, 96};
  ASSERT_EQ(plugin->memory->fill(device.get(), &to, &pattern, 4, nullptr), BP_OK);
  uint32_t got[25];
  ASSERT_EQ(device.to_host(got, handle, 100), BP_OK);
  ASSERT_EQ(device.synchronize(), BP_OK);
  EXPECT_EQ(got[1], pattern);
  EXPECT_EQ(got[24], pattern);
  device.release(handle);
}

TEST_F(Reference, a_thousand_copies_return_while_the_queue_is_held) {
  const bp_handle handle = device.allocate(4000);
  std::vector<int32_t> sent(1000), got(1000, -1);
  std::iota(sent.begin(), sent.end(), 0);
  ASSERT_EQ(hooks().hold(0), BP_OK);
  for (uint64_t i = 0; i < 1000; ++i) {
    const bp_region to{handle, i * 4, 4}, from{reinterpret_cast<uintptr_t>(&sent[i]), 0, 4};
    ASSERT_EQ(device.copy(to, from, BP_COPY_FROM_HOST), BP_OK);
  }
  ASSERT_EQ(device.to_host(got.data(), handle, 4000), BP_OK);
  uint64_t pending, allocations, bytes;
  ASSERT_EQ(hooks().usage(0, &pending, &allocations, &bytes), BP_OK);
  EXPECT_EQ(pending, 1001u);
  EXPECT_EQ(allocations, 1u);
  EXPECT_EQ(bytes, 4000u);
  EXPECT_EQ(got[999], -1);
  EXPECT_EQ(device.queue().query_stream(device.get(), nullptr), BP_RETRY);
  ASSERT_EQ(hooks().release(0), BP_OK);
  ASSERT_EQ(device.synchronize(), BP_OK);
  EXPECT_EQ(got, sent);
  EXPECT_EQ(device.queue().query_stream(device.get(), nullptr), BP_OK);
  device.release(handle);
}

TEST_F(Reference, an_event_orders_two_streams) {
  const bp_handle handle = device.allocate(4);
  bp_stream *writer = make_stream(), *reader = make_stream();
  bp_event* written = make_event();
  EXPECT_EQ(device.queue().query_event(device.get(), written), BP_OK);  // never recorded
  int32_t value = 41, got = 0;
  ASSERT_EQ(hooks().hold(0), BP_OK);
  ASSERT_EQ(device.from_host(handle, &value, 4, writer), BP_OK);
  ASSERT_EQ(device.queue().record_event(device.get(), written, writer), BP_OK);
  ASSERT_EQ(device.queue().wait_event(device.get(), reader, written), BP_OK);
  ASSERT_EQ(device.to_host(&got, handle, 4, reader), BP_OK);
  EXPECT_EQ(device.queue().query_event(device.get(), written), BP_RETRY);
  ASSERT_EQ(hooks().release(0), BP_OK);
  ASSERT_EQ(device.synchronize(reader), BP_OK);
  EXPECT_EQ(got, 41);
  EXPECT_EQ(device.queue().synchronize_event(device.get(), written), BP_OK);
  device.queue().destroy_event(device.get(), written);
  device.queue().destroy_stream(device.get(), writer);
  device.queue().destroy_stream(device.get(), reader);
  device.release(handle);
}

TEST_F(Reference, measures_between_events) {
  bp_event *start = make_event(), *end = make_event();
  double ns = 0;
  EXPECT_EQ(device.queue().elapsed(device.get(), start, end, &ns), BP_BAD_ARGUMENT);
  ASSERT_EQ(device.queue().record_event(device.get(), start, nullptr), BP_OK);
  ASSERT_EQ(device.queue().record_event(device.get(), end, nullptr), BP_OK);
  ASSERT_EQ(device.synchronize(), BP_OK);
  ASSERT_EQ(device.queue().elapsed(device.get(), start, end, &ns), BP_OK);
  EXPECT_GE(ns, 0.0);
  device.queue().destroy_event(device.get(), start);
  device.queue().destroy_event(device.get(), end);
}

TEST_F(Reference, a_late_error_comes_out_of_synchronize_once) {
  const bp_handle handle = device.allocate(4);
  int32_t value = 1;
  ASSERT_EQ(hooks().fail_next(0, BP_INTERNAL), BP_OK);
  ASSERT_EQ(device.from_host(handle, &value, 4), BP_OK);
  EXPECT_EQ(device.synchronize(), BP_INTERNAL);
  EXPECT_EQ(fake::Host::last_message(), "a failure that a test asked for");
  EXPECT_EQ(fake::Host::last_call(), 0u) << "a copy is not a call";
  EXPECT_EQ(device.synchronize(), BP_OK);
  device.release(handle);
}

TEST_F(Reference, a_lost_stream_takes_nothing_and_others_go_on) {
  const bp_handle handle = device.allocate(4);
  int32_t value = 1;
  bp_stream *const lost = make_stream(), *const other = make_stream();
  const bp_region to{handle, 0, 4}, from{reinterpret_cast<uintptr_t>(&value), 0, 4};
  const auto copy = [&](bp_stream* stream) {
    return device.copy(to, from, BP_COPY_FROM_HOST, stream);
  };
  ASSERT_EQ(hooks().fail_next(0, BP_STREAM_LOST), BP_OK);
  ASSERT_EQ(copy(lost), BP_OK);
  EXPECT_EQ(device.queue().synchronize(device.get(), lost), BP_STREAM_LOST);
  EXPECT_EQ(copy(lost), BP_STREAM_LOST);
  EXPECT_EQ(fake::Host::last_message(), "the stream was lost by work that failed");
  EXPECT_EQ(copy(other), BP_OK);
  EXPECT_EQ(device.queue().synchronize(device.get(), other), BP_OK);
  device.queue().destroy_stream(device.get(), lost);
  device.queue().destroy_stream(device.get(), other);
  device.release(handle);
}

TEST_F(Reference, who_marks_a_place_takes_no_cause_of_a_loss) {
  const bp_handle handle = device.allocate(4);
  int32_t value = 1;
  bp_stream* const lost = make_stream();
  bp_event* const event = make_event();
  const bp_region to{handle, 0, 4}, from{reinterpret_cast<uintptr_t>(&value), 0, 4};
  ASSERT_EQ(hooks().fail_next(0, BP_STREAM_LOST), BP_OK);
  ASSERT_EQ(device.copy(to, from, BP_COPY_FROM_HOST, lost), BP_OK);
  while (device.queue().record_event(device.get(), event, lost) == BP_OK) {
  }
  EXPECT_EQ(device.queue().synchronize(device.get(), lost), BP_STREAM_LOST)
      << "it was told already";
  EXPECT_THAT(fake::Host::last_message(), testing::HasSubstr("a failure that a test asked for"));
  device.queue().destroy_event(device.get(), event);
  device.queue().destroy_stream(device.get(), lost);
  device.release(handle);
}

TEST_F(Reference, refuses_what_lies_outside_an_allocation) {
  const bp_handle handle = device.allocate(100);
  char bytes[64] = {};
  const bp_region host_side{reinterpret_cast<uintptr_t>(bytes), 0, 64};
  EXPECT_EQ(device.copy({handle, 64, 64}, host_side, BP_COPY_FROM_HOST), BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(),
            "copy: the target: 64 bytes at offset 64 do not lie within an allocation of 100 bytes");
  EXPECT_EQ(device.copy({handle, UINT64_MAX, 64}, host_side, BP_COPY_FROM_HOST), BP_BAD_ARGUMENT);
  device.release(handle);
  EXPECT_EQ(device.copy({handle, 0, 64}, host_side, BP_COPY_FROM_HOST), BP_BAD_ARGUMENT);
  EXPECT_THAT(fake::Host::last_message(), testing::HasSubstr("names no living allocation"));
  device.release(handle);
  EXPECT_THAT(host.log_lines(), testing::Contains(testing::HasSubstr("which does not live")));
}

TEST_F(Reference, an_old_handle_is_not_taken_for_a_new_one) {
  const bp_handle old = device.allocate(8);
  device.release(old);
  const bp_handle young = device.allocate(8);
  EXPECT_NE(old, young);
  device.release(young);
}

TEST_F(Reference, runs_out_of_memory_at_its_limit) {
  ASSERT_EQ(hooks().set_limit(0, 1000), BP_OK);
  const bp_handle handle = device.allocate(600);
  ASSERT_NE(handle, 0u);
  EXPECT_EQ(device.allocate(600), 0u);
  EXPECT_EQ(fake::Host::last_message(), "600 bytes asked for, 600 of 1000 in use");
  device.release(handle);
  const bp_handle again = device.allocate(600);
  EXPECT_NE(again, 0u);
  device.release(again);
  ASSERT_EQ(hooks().set_limit(0, 0), BP_OK);
}

TEST_F(Reference, serves_eight_threads_on_eight_streams) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this, t] {
      bp_stream* stream = make_stream();
      fake::expect_round_trips(device, stream, t * 1000, 50);
      device.queue().destroy_stream(device.get(), stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Reference, a_forked_child_is_told_so) {
  const pid_t child = fork();
  if (child == 0) {
    const bool told = device.synchronize() == BP_DEVICE_LOST &&
                      fake::Host::last_message().find("fork") != std::string::npos;
    _exit(told ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ReferenceLibrary, loads_again_after_it_was_closed) {
  for (int i = 0; i < 3; ++i) {
    fake::Host host;
    fake::Plugin plugin(host, BP_PLUGIN_DIR "/libbackplane_reference.so");
    EXPECT_EQ(fake::Device(plugin, 1).synchronize(), BP_OK);
  }
}

}  // namespace
