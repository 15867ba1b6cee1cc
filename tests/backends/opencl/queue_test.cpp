// needs: opencl
// Streams and events of the OpenCL backend.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <chrono>
#include <dlfcn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <backplane/extensions/interop.h>

#include "backends/opencl/direct_device.hpp"

namespace {

class OpenClQueue : public direct::OpenCl {
 protected:
  // Busy for about a tenth of a second.
  void keep_busy(bp_stream* stream) {
    if (module_ == nullptr) {
      module_ = compile(direct::spin);
      function_ = find(module_, "spin");
      scratch_ = upload(std::vector<uint32_t>(1, 1));
    }
    const uint64_t rounds = 60'000'000;
    EXPECT_EQ(launch(function_, 1, {argument(scratch_), argument(&rounds)}, stream), BP_OK)
        << fake::Host::last_message();
  }
  void TearDown() override {
    if (module_ == nullptr) return;
    release(module_);
    device.release(scratch_);
  }

 private:
  bp_module* module_ = nullptr;
  bp_function* function_ = nullptr;
  bp_handle scratch_ = 0;
};

TEST_F(OpenClQueue, copies_and_launches_return_before_the_work_is_done) {
  bp_stream* stream = make_stream();
  EXPECT_EQ(device.queue().query_stream(device.get(), stream), BP_OK);
  int32_t value = 41, got = 0;
  const bp_handle handle = device.allocate(4);
  keep_busy(stream);
  ASSERT_EQ(device.from_host(handle, &value, 4, stream), BP_OK);
  ASSERT_EQ(device.to_host(&got, handle, 4, stream), BP_OK);
  EXPECT_EQ(device.queue().query_stream(device.get(), stream), BP_RETRY);
  EXPECT_EQ(got, 0);
  ASSERT_EQ(device.synchronize(stream), BP_OK);
  EXPECT_EQ(got, 41);
  EXPECT_EQ(device.queue().query_stream(device.get(), stream), BP_OK);
  device.release(handle);
  destroy(stream);
}

TEST_F(OpenClQueue, a_synchronized_stream_is_idle_at_once) {
  bp_stream* stream = make_stream();
  const bp_handle handle = device.allocate(4);
  int32_t value = 41;
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(device.from_host(handle, &value, 4, stream), BP_OK);
    ASSERT_EQ(device.synchronize(stream), BP_OK);
    ASSERT_EQ(device.queue().query_stream(device.get(), stream), BP_OK) << i;
  }
  device.release(handle);
  destroy(stream);
}

TEST_F(OpenClQueue, a_query_alone_sees_the_end) {
  bp_stream* stream = make_stream();
  keep_busy(stream);
  bp_code code = BP_RETRY;
  for (int i = 0; i < 10'000 && code == BP_RETRY; ++i) {
    code = device.queue().query_stream(device.get(), stream);
    if (code == BP_RETRY) usleep(1000);
  }
  EXPECT_EQ(code, BP_OK);
  destroy(stream);
}

TEST_F(OpenClQueue, an_event_orders_two_streams) {
  bp_stream *writer = make_stream(), *reader = make_stream();
  bp_event* written = make_event();
  EXPECT_EQ(device.queue().query_event(device.get(), written), BP_OK);  // never recorded
  EXPECT_EQ(device.queue().synchronize_event(device.get(), written), BP_OK);
  int32_t value = 41, got = 0;
  const bp_handle handle = upload(std::vector<int32_t>{1});
  keep_busy(writer);
  ASSERT_EQ(device.from_host(handle, &value, 4, writer), BP_OK);
  ASSERT_EQ(device.queue().record_event(device.get(), written, writer), BP_OK);
  ASSERT_EQ(device.queue().wait_event(device.get(), reader, written), BP_OK);
  ASSERT_EQ(device.to_host(&got, handle, 4, reader), BP_OK);
  EXPECT_EQ(device.queue().query_event(device.get(), written), BP_RETRY);
  ASSERT_EQ(device.synchronize(reader), BP_OK);
  EXPECT_EQ(got, 41);
  EXPECT_EQ(device.queue().query_event(device.get(), written), BP_OK);
  EXPECT_EQ(device.queue().synchronize_event(device.get(), written), BP_OK);
  device.queue().destroy_event(device.get(), written);
  device.release(handle);
  ASSERT_EQ(device.synchronize(writer), BP_OK);
  destroy(writer);
  destroy(reader);
}

TEST_F(OpenClQueue, measures_the_work_between_events) {
  bp_event *start = make_event(), *end = make_event();
  double ns = 0;
  EXPECT_EQ(device.queue().elapsed(device.get(), start, end, &ns), BP_BAD_ARGUMENT);
  ASSERT_EQ(device.queue().record_event(device.get(), start, nullptr), BP_OK);
  keep_busy(nullptr);
  ASSERT_EQ(device.queue().record_event(device.get(), end, nullptr), BP_OK);
  ASSERT_EQ(device.synchronize(), BP_OK);
  ASSERT_EQ(device.queue().elapsed(device.get(), start, end, &ns), BP_OK);
  EXPECT_GE(ns, 1e6);
  EXPECT_LT(ns, 60e9);
  device.queue().destroy_event(device.get(), start);
  device.queue().destroy_event(device.get(), end);
}

TEST_F(OpenClQueue, measures_from_where_an_event_was_recorded_last) {
  bp_event *start = make_event(), *end = make_event();
  double all_ns = 0, last_ns = 0;
  ASSERT_EQ(device.queue().record_event(device.get(), start, nullptr), BP_OK);
  keep_busy(nullptr);
  ASSERT_EQ(device.queue().record_event(device.get(), end, nullptr), BP_OK);
  // Reached is enough: nobody has waited for the stream.
  ASSERT_EQ(device.queue().synchronize_event(device.get(), end), BP_OK);
  ASSERT_EQ(device.queue().elapsed(device.get(), start, end, &all_ns), BP_OK);
  ASSERT_EQ(device.queue().record_event(device.get(), start, nullptr), BP_OK);
  ASSERT_EQ(device.queue().synchronize_event(device.get(), start), BP_OK);
  ASSERT_EQ(device.queue().elapsed(device.get(), end, start, &last_ns), BP_OK);
  EXPECT_GE(all_ns, 1e6);
  EXPECT_GE(last_ns, 0);
  destroy(start);
  destroy(end);
}

TEST_F(OpenClQueue, has_no_time_of_an_event_that_is_not_reached) {
  bp_event *start = make_event(), *end = make_event();
  double ns = 0;
  ASSERT_EQ(device.queue().record_event(device.get(), start, nullptr), BP_OK);
  keep_busy(nullptr);
  ASSERT_EQ(device.queue().record_event(device.get(), end, nullptr), BP_OK);
  EXPECT_EQ(device.queue().elapsed(device.get(), start, end, &ns), BP_BAD_ARGUMENT);
  EXPECT_NE(fake::Host::last_message().find("not yet reached"), std::string::npos);
  EXPECT_EQ(device.synchronize(), BP_OK);
  EXPECT_EQ(device.queue().elapsed(device.get(), start, end, &ns), BP_OK);
  destroy(start);
  destroy(end);
}

TEST_F(OpenClQueue, times_lie_within_what_the_host_saw) {
  using Clock = std::chrono::steady_clock;
  const auto ns_between = [](Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double, std::nano>(to - from).count();
  };
  bp_event *start = make_event(), *end = make_event();
  bp_stream* other = make_stream();
  for (int i = 0; i < 20; ++i) {
    double ns = 0;
    const auto before_start = Clock::now();
    ASSERT_EQ(device.queue().record_event(device.get(), start, nullptr), BP_OK);
    ASSERT_EQ(device.queue().synchronize_event(device.get(), start), BP_OK);
    const auto after_start = Clock::now();
    usleep(500);
    const auto before_end = Clock::now();
    ASSERT_EQ(device.queue().record_event(device.get(), end, i % 2 == 0 ? nullptr : other), BP_OK);
    ASSERT_EQ(device.queue().synchronize_event(device.get(), end), BP_OK);
    const auto after_end = Clock::now();
    ASSERT_EQ(device.queue().elapsed(device.get(), start, end, &ns), BP_OK);
    // A device's own clock may go a little faster or slower.
    EXPECT_GE(ns, ns_between(after_start, before_end) - 20e3);
    EXPECT_LE(ns, ns_between(before_start, after_end) + 20e3);
  }
  destroy(other);
  destroy(start);
  destroy(end);
}

TEST_F(OpenClQueue, times_of_one_stream_never_fall) {
  std::vector<bp_event*> events;
  for (int i = 0; i < 200; ++i) {
    events.push_back(make_event());
    ASSERT_EQ(device.queue().record_event(device.get(), events.back(), nullptr), BP_OK);
  }
  ASSERT_EQ(device.synchronize(), BP_OK);
  for (size_t i = 1; i < events.size(); ++i) {
    double ns = -1;
    ASSERT_EQ(device.queue().elapsed(device.get(), events[i - 1], events[i], &ns), BP_OK);
    EXPECT_GE(ns, 0);
  }
  for (bp_event* event : events) destroy(event);
}

TEST_F(OpenClQueue, an_event_may_go_before_it_is_reached) {
  bp_event* again = make_event();
  keep_busy(nullptr);
  for (int i = 0; i < 10; ++i) {
    bp_event* event = make_event();
    ASSERT_EQ(device.queue().record_event(device.get(), event, nullptr), BP_OK);
    ASSERT_EQ(device.queue().record_event(device.get(), again, nullptr), BP_OK);
    destroy(event);
  }
  EXPECT_EQ(device.synchronize(), BP_OK);
  destroy(again);
}

// The application holds its queue back until Backplane's part is gone.
TEST(OpenClUnload, an_event_in_an_adopted_queue_is_reached_after_all_has_gone) {
  const std::string path = BP_PLUGIN_DIR "/libbackplane_opencl.so";
  cl_command_queue queue = nullptr;
  cl_event gate = nullptr;
  fake::Host host;
  {
    fake::Plugin plugin(host, path);
    fake::Device device(plugin, 0);
    const auto& interop = *reinterpret_cast<const bp_interop*>(
        plugin->extension(plugin->self, BP_INTEROP, BP_INTEROP_VERSION));
    uint64_t context = 0, id = 0;
    ASSERT_EQ(interop.device_handle(device.get(), "opencl.context", &context), BP_OK);
    ASSERT_EQ(interop.device_handle(device.get(), "opencl.device", &id), BP_OK);
    cl_int error = CL_SUCCESS;
    queue = clCreateCommandQueueWithProperties(reinterpret_cast<cl_context>(context),
                                               reinterpret_cast<cl_device_id>(id), nullptr, &error);
    ASSERT_EQ(error, CL_SUCCESS);
    gate = clCreateUserEvent(reinterpret_cast<cl_context>(context), &error);
    ASSERT_EQ(error, CL_SUCCESS);
    ASSERT_EQ(clEnqueueBarrierWithWaitList(queue, 1, &gate, nullptr), CL_SUCCESS);
    const bp_native adopted{"opencl.command_queue", reinterpret_cast<uint64_t>(queue)};
    bp_stream* stream = nullptr;
    bp_event* event = nullptr;
    ASSERT_EQ(interop.adopt_stream(device.get(), &adopted, &stream), BP_OK);
    ASSERT_EQ(device.queue().create_event(device.get(), &event), BP_OK);
    ASSERT_EQ(device.queue().record_event(device.get(), event, stream), BP_OK);
    EXPECT_EQ(device.queue().query_event(device.get(), event), BP_RETRY);
    device.queue().destroy_event(device.get(), event);
    interop.forget_stream(device.get(), stream);
  }
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  EXPECT_NE(library, nullptr) << "the plugin is no longer mapped, and the driver calls into it";
  if (library != nullptr) dlclose(library);
  EXPECT_EQ(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  EXPECT_EQ(clFinish(queue), CL_SUCCESS);
  EXPECT_EQ(clReleaseEvent(gate), CL_SUCCESS);
  EXPECT_EQ(clReleaseCommandQueue(queue), CL_SUCCESS);
}

TEST_F(OpenClQueue, serves_eight_threads_on_eight_streams) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this, t] {
      bp_stream* stream = make_stream();
      for (int i = 0; i < 20; ++i) {
        const bp_handle handle = device.allocate(256);
        std::vector<int> sent(64, t * 1000 + i), got(64);
        EXPECT_EQ(device.from_host(handle, sent.data(), 256, stream), BP_OK);
        EXPECT_EQ(device.to_host(got.data(), handle, 256, stream), BP_OK);
        EXPECT_EQ(device.synchronize(stream), BP_OK);
        EXPECT_EQ(got, sent);
        device.release(handle);
      }
      destroy(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(OpenClQueue, a_forked_child_is_told_so) {
  const bp_handle handle = device.allocate(8);
  const pid_t child = fork();
  if (child == 0) {
    char bytes[8] = {};
    bp_handle other = 0;
    const bool told = device.synchronize() == BP_DEVICE_LOST &&
                      fake::Host::last_message().find("fork") != std::string::npos &&
                      device.from_host(handle, bytes, 8) == BP_DEVICE_LOST &&
                      device.queue().query_stream(device.get(), nullptr) == BP_DEVICE_LOST &&
                      memory().allocate(device.get(), 8, 64, &other) == BP_DEVICE_LOST;
    _exit(told ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  device.release(handle);
}

}  // namespace
