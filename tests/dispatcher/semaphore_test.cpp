// needs: cpu reference
// Order across devices and interfaces: events of another device, semaphores of others.
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

#include <backplane/runtime/semaphore.hpp>

#include "dispatcher/calls.hpp"
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
        Semaphore(first(), {BP_SEMAPHORE_DMA_BUF_FD, 0});
      }),
      "semaphore: reference:0 has no semaphores of kind 'fd.dma_buf'; there is host.timeline, "
      "fd.timeline");
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
            "wait: the semaphore is of reference:0 and the stream of reference:1; take it on that "
            "device as well");
}

}  // namespace
