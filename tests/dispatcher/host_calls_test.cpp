// needs: cpu reference
// Functions of the application in streams: of a device that takes them, and of one where the caller waits.
#include <future>
#include <gtest/gtest.h>
#include <stdexcept>

#include <backplane/capture/capture.hpp>
#include <backplane/runtime/host_calls.hpp>

#include "dispatcher/calls.hpp"
#include "dispatcher/held_stream.hpp"
#include "dispatcher/reference_hooks.hpp"

namespace {

using namespace bp::test;
using bp::Stream;
using bp::Tensor;

bp::Device asynchronous() {
  return bp::device("reference");
}

TEST(HostCalls, is_called_after_earlier_work_while_the_caller_goes_on) {
  HeldStream held(asynchronous());
  std::atomic<int> order{0}, called_as{0};
  bp::call_on_stream(held.stream(), [&] { called_as = ++order; });
  bp::call_on_stream(held.stream(), [&] { ++order; });
  EXPECT_EQ(order, 0);
  held.let_go();
  EXPECT_EQ(called_as, 1);
  EXPECT_EQ(order, 2);
}

TEST(HostCalls, later_work_waits_for_it) {
  const Stream stream(asynchronous());
  const bp::StreamGuard guard(stream);
  const Tensor source = given({5, 6, 7, 8}, asynchronous());
  const Tensor target = bp::empty_tensor({4}, bp::f32, asynchronous());
  std::promise<void> gate;
  bp::call_on_stream(stream, [&] { gate.get_future().wait(); });
  bp::copy_into(target, source);
  EXPECT_FALSE(stream.query());
  gate.set_value();
  stream.synchronize();
  EXPECT_EQ(values(target), (std::vector<float>{5, 6, 7, 8}));
}

TEST(HostCalls, is_called_where_earlier_work_failed) {
  const Stream stream(asynchronous());
  const bp::StreamGuard guard(stream);
  const Tensor a = given({1, 2}, asynchronous()),
               b = bp::empty_tensor({2}, bp::f32, asynchronous());
  bp::synchronize(asynchronous());
  reference_hooks().fail_next(0, BP_INTERNAL);
  bp::copy_into(b, a);
  bool called = false;
  bp::call_on_stream(stream, [&] { called = true; });
  EXPECT_NE(error_of([&] { stream.synchronize(); }), "no error");
  EXPECT_TRUE(called);
}

TEST(HostCalls, what_it_throws_is_the_streams_error_once) {
  for (const bp::Device device : {asynchronous(), bp::host_device()}) {
    const Stream stream(device);
    bp::call_on_stream(stream, [] { throw std::runtime_error("the file is gone"); });
    EXPECT_EQ(error_of([&] { stream.synchronize(); }),
              "call_on_stream: the function threw: the file is gone");
    EXPECT_NO_THROW(stream.synchronize());
    bp::call_on_stream(stream, [] {
      throw bp::Error(bp::ErrorClass::bad_argument, "fetch: there is no batch 7");
    });
    EXPECT_EQ(error_of([&] { stream.synchronize(); }), "fetch: there is no batch 7");
    bp::call_on_stream(stream, [] { throw 3; });
    EXPECT_NE(error_of([&] { stream.synchronize(); }), "no error");
  }
}

TEST(HostCalls, a_synchronous_device_has_it_called_at_once) {
  int called = 0;
  bp::call_on_stream(Stream::current(bp::host_device()), [&] { ++called; });
  EXPECT_EQ(called, 1);
}

TEST(HostCalls, captures_refuse_it) {
  const Stream stream(asynchronous());
  EXPECT_EQ(
      class_of_error([&] { bp::capture(stream, [&] { bp::call_on_stream(stream, [] {}); }); }),
      bp::ErrorClass::bad_argument);
}

TEST(HostCalls, an_empty_function_is_refused) {
  EXPECT_EQ(error_of([] { bp::call_on_stream(Stream::current(bp::host_device()), nullptr); }),
            "call_on_stream: the function is empty; give one that can be called");
}

}  // namespace
