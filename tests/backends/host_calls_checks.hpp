// Functions of the host in a stream, of any backend that offers bp.host_calls.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include <backplane/extensions/capture.h>
#include <backplane/extensions/host_calls.h>

#include "backends/direct_device.hpp"

namespace direct {

using HostFunction = std::function<void()>;

inline bp_code give(DirectDevice& on, bp_stream* stream, HostFunction& function) {
  return on.extension<bp_host_calls>(BP_HOST_CALLS)
      .call(
          on.opened().get(), stream, [](void* it) { (*static_cast<HostFunction*>(it))(); },
          &function);
}

inline void expect_functions_in_order_and_later_work_waits(DirectDevice& on) {
  fake::Device& device = on.opened();
  bp_stream* stream = on.make_stream();
  const bp_handle source = on.upload(std::vector<int32_t>{2});
  const bp_handle block = on.upload(std::vector<int32_t>{1});
  std::promise<void> gate;
  std::future<void> is_open = gate.get_future();
  std::atomic<int> seen{0}, place{0};
  HostFunction waits = [&] { is_open.wait(), ++place; };
  HostFunction looks = [&] { seen = ++place; };
  ASSERT_EQ(give(on, stream, waits), BP_OK) << fake::Host::last_message();
  const bp_region to{block, 0, 4}, from{source, 0, 4};
  ASSERT_EQ(on.memory().copy(device.get(), &to, &from, BP_COPY_WITHIN, stream), BP_OK);
  ASSERT_EQ(give(on, stream, looks), BP_OK);
  EXPECT_EQ(on.download<int32_t>(block, 1)[0], 1) << "another stream goes on, and sees nothing yet";
  EXPECT_EQ(place, 0);
  EXPECT_EQ(device.queue().query_stream(device.get(), stream), BP_RETRY);
  gate.set_value();
  ASSERT_EQ(device.synchronize(stream), BP_OK);
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(on.download<int32_t>(block, 1)[0], 2);
  on.destroy(stream);
  device.release(block);
  device.release(source);
}

inline void expect_functions_of_two_streams_may_wait_for_each_other(DirectDevice& on) {
  bp_stream *first = on.make_stream(), *second = on.make_stream();
  std::promise<void> gate;
  std::future<void> is_open = gate.get_future();
  HostFunction waits = [&] { is_open.wait(); }, opens = [&] { gate.set_value(); };
  ASSERT_EQ(give(on, first, waits), BP_OK);
  ASSERT_EQ(give(on, second, opens), BP_OK);
  EXPECT_EQ(on.opened().synchronize(first), BP_OK);
  EXPECT_EQ(on.opened().synchronize(second), BP_OK);
  on.destroy(first);
  on.destroy(second);
}

inline void expect_many_functions_once_each_and_in_order(DirectDevice& on) {
  constexpr int count = 200;
  bp_stream* stream = on.make_stream();
  std::vector<int> order;
  std::vector<HostFunction> all(count);
  for (int i = 0; i < count; ++i) {
    HostFunction& each = all[static_cast<size_t>(i)] = [&order, i] { order.push_back(i); };
    ASSERT_EQ(give(on, stream, each), BP_OK) << fake::Host::last_message();
  }
  EXPECT_EQ(on.opened().synchronize(stream), BP_OK);
  EXPECT_EQ(order.size(), size_t{count});
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  on.destroy(stream);
}

// A place in the stream and a place in the thread's list are two: those of several givers must not cross.
inline void expect_functions_of_many_threads_all_come(DirectDevice& on) {
  constexpr int num_threads = 4, count = 100;
  bp_stream* stream = on.make_stream();
  std::atomic<int> calls{0}, failures{0};
  HostFunction counts = [&] { ++calls; };
  std::vector<std::thread> threads;
  for (int t = 0; t < num_threads; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < count; ++i) failures += give(on, stream, counts) != BP_OK;
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(on.opened().synchronize(stream), BP_OK);
  EXPECT_EQ(calls, num_threads * count);
  on.destroy(stream);
}

inline void expect_functions_are_refused_while_a_stream_records(DirectDevice& on) {
  const auto& capture = on.extension<bp_capture>(BP_CAPTURE);
  bp_device* device = on.opened().get();
  bp_stream* stream = on.make_stream();
  ASSERT_EQ(capture.begin(device, stream), BP_OK) << fake::Host::last_message();
  HostFunction never = [] { ADD_FAILURE() << "it was called"; };
  EXPECT_EQ(give(on, stream, never), BP_UNSUPPORTED);
  EXPECT_EQ(capture.end(device, stream, nullptr), BP_OK);
  on.destroy(stream);
}

}  // namespace direct
