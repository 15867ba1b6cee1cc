// needs: opencl
// Streams and events of the OpenCL backend.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <chrono>
#include <dlfcn.h>
#include <optional>
#include <unistd.h>

#include <backplane/extensions/interop.h>

#include "backends/opencl/direct_device.hpp"
#include "backends/queue_checks.hpp"

namespace {

class OpenClQueue : public direct::OpenCl {
 protected:
  direct::Spinner& spinner() {
    if (!spinner_) spinner_.emplace(*this, compile(direct::spin), 60'000'000);
    return *spinner_;
  }
  void TearDown() override { spinner_.reset(); }

 private:
  std::optional<direct::Spinner> spinner_;
};

TEST_F(OpenClQueue, copies_and_launches_return_before_the_work_is_done) {
  direct::expect_copies_and_launches_return_before_the_work_is_done(spinner(),
                                                                    direct::Reads::return_at_once);
}

TEST_F(OpenClQueue, a_synchronized_stream_is_idle_at_once) {
  direct::expect_a_synchronized_stream_is_idle_at_once(*this);
}

TEST_F(OpenClQueue, a_query_alone_sees_the_end) {
  direct::expect_a_query_alone_sees_the_end(spinner());
}

TEST_F(OpenClQueue, an_event_orders_two_streams) {
  direct::expect_an_event_orders_two_streams(spinner(), direct::Reads::return_at_once);
}

TEST_F(OpenClQueue, measures_the_work_between_events) {
  direct::expect_measures_the_work_between_events(spinner());
}

TEST_F(OpenClQueue, measures_from_where_an_event_was_recorded_last) {
  bp_event *start = make_event(), *end = make_event();
  double all_ns = 0, last_ns = 0;
  ASSERT_EQ(device.queue().record_event(device.get(), start, nullptr), BP_OK);
  spinner().keep_busy(nullptr);
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
  spinner().keep_busy(nullptr);
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
  spinner().keep_busy(nullptr);
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
  direct::expect_eight_threads_use_eight_streams(*this);
}

TEST_F(OpenClQueue, a_forked_child_is_told_so) {
  direct::expect_a_forked_child_is_told_so(*this);
}

}  // namespace
