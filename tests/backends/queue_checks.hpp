// What a backend's streams and events do: asked of a device, with a module that has the kernel spin.
#pragma once

#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "backends/direct_device.hpp"
#include "backends/round_trips.hpp"

namespace direct {

// Keeps streams busy for about a tenth of a second, of which `rounds` depend on the device.
class Spinner {
 public:
  // Takes the module.
  Spinner(DirectDevice& device, bp_module* module, uint64_t rounds)
      : on(device), module_(module), spin_(device.find(module, "spin")),
        scratch_(device.upload(std::vector<uint32_t>(1, 1))), rounds_(rounds) {}
  ~Spinner() {
    EXPECT_EQ(on.opened().synchronize(), BP_OK);
    on.release(module_);
    on.opened().release(scratch_);
  }
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;

  void keep_busy(bp_stream* stream) {
    EXPECT_EQ(on.launch(spin_, 1, {on.argument(scratch_), on.argument(&rounds_)}, stream), BP_OK)
        << fake::Host::last_message();
  }

  DirectDevice& on;

 private:
  bp_module* module_;
  bp_function* spin_;
  bp_handle scratch_;
  uint64_t rounds_;
};

// Whether copies to pageable host memory return when they are done, as some drivers' do.
enum class Reads { return_at_once, wait };

inline void expect_copies_and_launches_return_before_the_work_is_done(Spinner& s, Reads reads) {
  DirectDevice& on = s.on;
  fake::Device& device = on.opened();
  bp_stream* stream = on.make_stream();
  EXPECT_EQ(device.queue().query_stream(device.get(), stream), BP_OK);
  int32_t value = 41, got = 0;
  const bp_handle handle = device.allocate(4);
  s.keep_busy(stream);
  ASSERT_EQ(device.from_host(handle, &value, 4, stream), BP_OK);
  if (reads == Reads::wait) {
    EXPECT_EQ(device.queue().query_stream(device.get(), stream), BP_RETRY);
  }
  ASSERT_EQ(device.to_host(&got, handle, 4, stream), BP_OK);
  if (reads == Reads::return_at_once) {
    EXPECT_EQ(device.queue().query_stream(device.get(), stream), BP_RETRY);
    EXPECT_EQ(got, 0);
  }
  ASSERT_EQ(device.synchronize(stream), BP_OK);
  EXPECT_EQ(got, 41);
  EXPECT_EQ(device.queue().query_stream(device.get(), stream), BP_OK);
  device.release(handle);
  on.destroy(stream);
}

inline void expect_a_synchronized_stream_is_idle_at_once(DirectDevice& on) {
  fake::Device& device = on.opened();
  bp_stream* stream = on.make_stream();
  const bp_handle handle = device.allocate(4);
  int32_t value = 41;
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(device.from_host(handle, &value, 4, stream), BP_OK);
    ASSERT_EQ(device.synchronize(stream), BP_OK);
    ASSERT_EQ(device.queue().query_stream(device.get(), stream), BP_OK) << i;
  }
  device.release(handle);
  on.destroy(stream);
}

inline void expect_a_query_alone_sees_the_end(Spinner& s) {
  fake::Device& device = s.on.opened();
  bp_stream* stream = s.on.make_stream();
  s.keep_busy(stream);
  bp_code code = BP_RETRY;
  for (int i = 0; i < 10'000 && code == BP_RETRY; ++i) {
    code = device.queue().query_stream(device.get(), stream);
    if (code == BP_RETRY) usleep(1000);
  }
  EXPECT_EQ(code, BP_OK);
  s.on.destroy(stream);
}

inline void expect_an_event_orders_two_streams(Spinner& s, Reads reads) {
  DirectDevice& on = s.on;
  fake::Device& device = on.opened();
  const bp_queue& queue = device.queue();
  bp_stream *writer = on.make_stream(), *reader = on.make_stream();
  bp_event* written = on.make_event();
  EXPECT_EQ(queue.query_event(device.get(), written), BP_OK);  // never recorded
  EXPECT_EQ(queue.synchronize_event(device.get(), written), BP_OK);
  int32_t value = 41, got = 0;
  const bp_handle handle = on.upload(std::vector<int32_t>{1});
  s.keep_busy(writer);
  ASSERT_EQ(device.from_host(handle, &value, 4, writer), BP_OK);
  ASSERT_EQ(queue.record_event(device.get(), written, writer), BP_OK);
  ASSERT_EQ(queue.wait_event(device.get(), reader, written), BP_OK);
  if (reads == Reads::wait) {
    EXPECT_EQ(queue.query_event(device.get(), written), BP_RETRY);
  }
  ASSERT_EQ(device.to_host(&got, handle, 4, reader), BP_OK);
  if (reads == Reads::return_at_once) {
    EXPECT_EQ(queue.query_event(device.get(), written), BP_RETRY);
  }
  ASSERT_EQ(device.synchronize(reader), BP_OK);
  EXPECT_EQ(got, 41);
  EXPECT_EQ(queue.query_event(device.get(), written), BP_OK);
  EXPECT_EQ(queue.synchronize_event(device.get(), written), BP_OK);
  on.destroy(written);
  device.release(handle);
  ASSERT_EQ(device.synchronize(writer), BP_OK);
  on.destroy(writer);
  on.destroy(reader);
}

inline void expect_measures_the_work_between_events(Spinner& s) {
  fake::Device& device = s.on.opened();
  const bp_queue& queue = device.queue();
  bp_event *start = s.on.make_event(), *end = s.on.make_event();
  double ns = 0;
  EXPECT_EQ(queue.elapsed(device.get(), start, end, &ns), BP_BAD_ARGUMENT);
  ASSERT_EQ(queue.record_event(device.get(), start, nullptr), BP_OK);
  s.keep_busy(nullptr);
  ASSERT_EQ(queue.record_event(device.get(), end, nullptr), BP_OK);
  ASSERT_EQ(device.synchronize(), BP_OK);
  ASSERT_EQ(queue.elapsed(device.get(), start, end, &ns), BP_OK);
  EXPECT_GE(ns, 1e6);
  EXPECT_LT(ns, 60e9);
  s.on.destroy(start);
  s.on.destroy(end);
}

inline void expect_eight_threads_use_eight_streams(DirectDevice& on) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&on, t] {
      fake::Device& device = on.opened();
      bp_stream* stream = on.make_stream();
      fake::expect_round_trips(device, stream, t * 1000, 20);
      on.destroy(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

inline void expect_a_forked_child_is_told_so(DirectDevice& on) {
  fake::Device& device = on.opened();
  const bp_handle handle = device.allocate(8);
  const pid_t child = fork();
  if (child == 0) {
    char bytes[8] = {};
    bp_handle other = 0;
    const bool told = device.synchronize() == BP_DEVICE_LOST &&
                      fake::Host::last_message().find("fork") != std::string::npos &&
                      device.from_host(handle, bytes, 8) == BP_DEVICE_LOST &&
                      device.queue().query_stream(device.get(), nullptr) == BP_DEVICE_LOST &&
                      on.memory().allocate(device.get(), 8, 64, &other) == BP_DEVICE_LOST;
    _exit(told ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  device.release(handle);
}

}  // namespace direct
