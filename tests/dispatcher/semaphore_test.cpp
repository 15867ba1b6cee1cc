// needs: cpu reference
// Order across devices and interfaces: events of another device, semaphores of others.
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

#include <backplane/runtime/semaphore.hpp>

#include "dispatcher/calls.hpp"
#include "dispatcher/child.hpp"
#include "dispatcher/held_stream.hpp"
#include "dispatcher/reference_hooks.hpp"

namespace {

using namespace bp::test;
using bp::Device;
using bp::Event;
using bp::NativeHandle;
using bp::Semaphore;
using bp::Stream;
using bp::Tensor;

Device first() {
  return bp::device("reference:0");
}
Device second() {
  return bp::device("reference:1");
}

NativeHandle timeline(std::uint64_t& number) {
  return {BP_SEMAPHORE_HOST, reinterpret_cast<std::uint64_t>(&number)};
}

TEST(EventsAcrossDevices, a_stream_waits_for_another_device_while_the_caller_goes_on) {
  HeldStream held(first());
  Event event(first());
  event.record(held.stream());
  const Stream waiting(second());
  event.wait(waiting);  // the test would end at HeldStream's limit if this waited
  Event after(second());
  after.record(waiting);
  EXPECT_FALSE(after.query());
  held.let_go();
  waiting.synchronize();
  EXPECT_TRUE(after.query());
}

TEST(EventsAcrossDevices, an_error_comes_along) {
  const Stream failing(first()), waiting(second());
  {
    const bp::StreamGuard guard(failing);
    const Tensor a = given({1, 2}, first()), b = bp::empty_tensor({2}, bp::f32, first());
    failing.synchronize();
    reference_hooks().fail_next(0, BP_INTERNAL);
    bp::copy_into(b, a);
  }
  Event event(first());
  event.record(failing);
  event.wait(waiting);
  EXPECT_EQ(class_of_error([&] { waiting.synchronize(); }), bp::ErrorClass::internal);
  EXPECT_EQ(class_of_error([&] { failing.synchronize(); }), bp::ErrorClass::internal);
}

TEST(EventsAcrossDevices, another_backend_makes_the_caller_wait) {
  const Stream stream(first());
  Event event(first());
  event.record(stream);
  event.wait(Stream::current(bp::host_device()));
  EXPECT_TRUE(event.query());
}

TEST(Semaphores, a_stream_waits_for_a_number_of_the_host) {
  std::uint64_t number = 3;
  const Semaphore semaphore(first(), timeline(number));
  const Stream stream(first());
  semaphore.wait(stream, 3);
  stream.synchronize();  // it is there already
  semaphore.wait(stream, 4);
  EXPECT_FALSE(stream.query());
  std::atomic_ref<std::uint64_t>(number).store(7);
  stream.synchronize();
}

TEST(Semaphores, a_stream_raises_a_number_after_its_work) {
  std::uint64_t number = 0;
  const Semaphore semaphore(first(), timeline(number));
  HeldStream held(first());
  semaphore.signal(held.stream(), 5);
  EXPECT_EQ(std::atomic_ref<std::uint64_t>(number).load(), 0u);
  held.let_go();
  EXPECT_EQ(std::atomic_ref<std::uint64_t>(number).load(), 5u);
}

TEST(Semaphores, a_number_is_raised_where_earlier_work_failed) {
  std::uint64_t number = 0;
  const Semaphore semaphore(first(), timeline(number));
  const Stream stream(first());
  const bp::StreamGuard guard(stream);
  const Tensor a = given({1, 2}, first()), b = bp::empty_tensor({2}, bp::f32, first());
  stream.synchronize();
  reference_hooks().fail_next(0, BP_INTERNAL);
  bp::copy_into(b, a);
  semaphore.signal(stream, 1);
  EXPECT_NE(error_of([&] { stream.synchronize(); }), "no error");
  EXPECT_EQ(std::atomic_ref<std::uint64_t>(number).load(), 1u);
}

TEST(Semaphores, two_devices_meet_through_a_descriptor) {
  const Semaphore given_out(first());
  const NativeHandle descriptor = given_out.native(BP_SEMAPHORE_OPAQUE_FD);
  const Semaphore taken(second(), descriptor);  // which has the descriptor now
  HeldStream held(first());
  given_out.signal(held.stream(), 1);
  const Stream waiting(second());
  taken.wait(waiting, 1);
  EXPECT_FALSE(waiting.query());
  held.let_go();
  waiting.synchronize();
}

// An eventfd stands for a dma-buf here: both are readable once somebody else has reached the fence.
struct Fence {
  int file = eventfd(0, 0);
  Fence() = default;
  ~Fence() { close(file); }
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;
  // For the side that takes it over.
  NativeHandle handle() const {
    return {BP_SEMAPHORE_DMA_BUF_FD, static_cast<std::uint64_t>(dup(file))};
  }
  void reach() const {
    const std::uint64_t one = 1;
    EXPECT_EQ(write(file, &one, sizeof one), 8);
  }
};

bool is_reached(int file, int limit_ms) {
  pollfd polled{file, POLLIN, 0};
  return poll(&polled, 1, limit_ms) == 1 && (polled.revents & POLLIN);
}

TEST(DmaBufs, a_stream_waits_for_a_fence) {
  const Fence fence;
  const Semaphore semaphore(first(), fence.handle());
  const Stream stream(first());
  semaphore.wait(stream, 0);
  stream.synchronize();
  semaphore.wait(stream, 1);
  EXPECT_FALSE(stream.query());
  fence.reach();
  stream.synchronize();
  semaphore.wait(stream, 1);  // it stays reached
  stream.synchronize();
}

TEST(DmaBufs, a_fence_is_reached_once_and_by_its_maker) {
  const Fence fence;
  const Semaphore semaphore(first(), fence.handle());
  const Stream stream(first());
  EXPECT_EQ(error_of([&] { semaphore.wait(stream, 2); }),
            "wait: semaphore: a dma-buf's fence is reached once, at 1; not at 2 (plugin reference, "
            "device reference:0)");
  EXPECT_EQ(class_of_error([&] { semaphore.signal(stream, 1); }), bp::ErrorClass::unsupported);
  stream.synchronize();  // it waits for neither
  EXPECT_TRUE(stream.query());
}

TEST(DmaBufs, a_stream_reaches_a_fence_after_its_work) {
  const Semaphore semaphore(first());
  const int file = static_cast<int>(semaphore.native(BP_SEMAPHORE_DMA_BUF_FD).value);
  HeldStream held(first());
  semaphore.signal(held.stream(), 1);
  EXPECT_FALSE(is_reached(file, 0));
  held.let_go();
  EXPECT_TRUE(is_reached(file, 10000));
  const int late = static_cast<int>(semaphore.native(BP_SEMAPHORE_DMA_BUF_FD).value);
  EXPECT_TRUE(is_reached(late, 0)) << "given out after it was reached";
  close(file);
  close(late);
}

TEST(DmaBufs, what_is_no_descriptor_is_refused) {
  EXPECT_EQ(class_of_error([&] {
              Semaphore(first(), {BP_SEMAPHORE_DMA_BUF_FD, 987654});
            }),
            bp::ErrorClass::bad_argument);
}

// The other process: its device waits for ours, and ours for its.
TEST(DmaBufs, DISABLED_answer_a_fence_with_another) {
  const auto file_of = [](const char* name) {
    return static_cast<std::uint64_t>(std::atoi(std::getenv(name)));
  };
  const Semaphore theirs(first(), {BP_SEMAPHORE_DMA_BUF_FD, file_of("THEIR_FENCE")});
  const Semaphore answer(first(), {BP_SEMAPHORE_OPAQUE_FD, file_of("OUR_NUMBER")});
  const Stream stream(first());
  theirs.wait(stream, 1);
  answer.signal(stream, 5);
  stream.synchronize();
}

TEST(DmaBufs, order_the_devices_of_two_processes) {
  const Semaphore fence(first()), answer(first());
  const auto fence_file = static_cast<int>(fence.native(BP_SEMAPHORE_DMA_BUF_FD).value),
             number_file = static_cast<int>(answer.native(BP_SEMAPHORE_OPAQUE_FD).value);
  for (const int file : {fence_file, number_file}) ASSERT_EQ(fcntl(file, F_SETFD, 0), 0);
  HeldStream held(first());
  fence.signal(held.stream(), 1);
  const Stream waiting(first());
  std::thread other([=] {
    expect_passes(
        "DmaBufs.DISABLED_answer_a_fence_with_another",
        {"THEIR_FENCE=" + std::to_string(fence_file), "OUR_NUMBER=" + std::to_string(number_file)});
  });
  answer.wait(waiting, 5);
  EXPECT_FALSE(waiting.query());
  held.let_go();
  waiting.synchronize();
  other.join();
  close(fence_file);
  close(number_file);
}

TEST(Semaphores, a_descriptor_that_is_none_is_refused_and_stays_the_callers) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const auto value = static_cast<std::uint64_t>(pipes[0]);
  EXPECT_EQ(class_of_error([&] {
              Semaphore(first(), {BP_SEMAPHORE_OPAQUE_FD, value});
            }),
            bp::ErrorClass::bad_argument);
  EXPECT_EQ(close(pipes[0]), 0);
  EXPECT_EQ(close(pipes[1]), 0);
}

TEST(Semaphores, kinds_that_a_device_does_not_have_are_named) {
  EXPECT_EQ(
      error_of([] {
        Semaphore(first(), {"acme.fence", 0});
      }),
      "semaphore: reference:0 has no semaphores of kind 'acme.fence'; there is host.timeline, "
      "fd.timeline, fd.dma_buf");
  EXPECT_EQ(error_of([] {
              Semaphore(bp::host_device(), {BP_SEMAPHORE_OPAQUE_FD, 0});
            }),
            "semaphore: cpu:0 has no semaphores of kind 'fd.timeline'; there is host.timeline");
}

TEST(Semaphores, may_go_while_streams_use_them) {
  std::uint64_t number = 0;
  const Stream stream(first());
  {
    const Semaphore semaphore(first(), timeline(number));
    semaphore.wait(stream, 1);
    semaphore.signal(stream, 2);
  }
  EXPECT_FALSE(stream.query());
  std::atomic_ref<std::uint64_t>(number).store(1);
  stream.synchronize();
  EXPECT_EQ(std::atomic_ref<std::uint64_t>(number).load(), 2u);
}

TEST(Semaphores, without_the_extension_the_caller_waits) {
  const Device device = bp::host_device();
  const Semaphore semaphore(device);
  const Stream stream = Stream::current(device);
  auto& number = *reinterpret_cast<std::uint64_t*>(semaphore.native().value);
  semaphore.signal(stream, 2);
  EXPECT_EQ(std::atomic_ref<std::uint64_t>(number).load(), 2u);
  std::thread other([&] { std::atomic_ref<std::uint64_t>(number).store(3); });
  semaphore.wait(stream, 3);
  other.join();
}

TEST(Semaphores, are_of_one_device) {
  const Semaphore semaphore(first());
  EXPECT_EQ(error_of([&] { semaphore.wait(Stream(second()), 1); }),
            "wait: the semaphore belongs to reference:0 and the stream to reference:1; import it "
            "on that device too");
}

}  // namespace
