// What every backend with bp.interop owes an application that shares the device with it, through the public API. A
// `Maker` is the maker's own interface: buffers and queues made, filled, read and held without Backplane.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

#include <backplane/dispatcher/counters.hpp>
#include <backplane/runtime/interop.hpp>
#include <backplane/runtime/stream.hpp>
#include <backplane/tensors.hpp>

#include "dispatcher/calls.hpp"

namespace adopting {

using bp::Device;
using bp::NativeHandle;
using bp::Stream;
using bp::Tensor;
using Floats = std::vector<float>;

inline void count(void* times) {
  ++*static_cast<std::atomic<int>*>(times);
}

template <class Maker> class Adopting : public testing::Test {
 protected:
  // Over the first six numbers of `buffer`.
  Tensor over(const NativeHandle& buffer, std::uint64_t byte_offset = 0) {
    return bp::tensor_from_memory(buffer, byte_offset, {2, 3}, {3, 1}, bp::f32, device, count,
                                  &num_deleted);
  }
  // Ready on the device: copying it there gives work, and waits for none, on any device.
  Tensor filled(const std::vector<std::int64_t>& shape, float number) {
    const Tensor tensor = bp::to(bp::full(shape, number, bp::f32, bp::host_device()), device);
    bp::synchronize(device);
    return tensor;
  }
  std::string refused(const NativeHandle& buffer, std::uint64_t byte_offset = 0) {
    return bp::test::error_of([&] { over(buffer, byte_offset); });
  }
  std::string refused_queue(const NativeHandle& queue) {
    return bp::test::error_of([&] { bp::adopt_stream(device, queue); });
  }

  void memory_is_one_and_the_same_on_both_sides() {
    const NativeHandle buffer = maker.make_buffer({1, 2, 3, 4, 5, 6});
    const auto reserved = bp::memory_statistics(device).num_backend_allocations;
    {
      const Tensor tensor = over(buffer);
      EXPECT_EQ(bp::native_memory(tensor).handle.value, buffer.value);
      EXPECT_EQ(bp::native_memory(tensor).byte_offset, 0u);
      EXPECT_EQ(bp::memory_statistics(device).num_backend_allocations, reserved);
      bp::add_(tensor, 10);
      bp::synchronize(device);
      EXPECT_EQ(maker.read(buffer), (Floats{11, 12, 13, 14, 15, 16}));
      maker.write(buffer, {0, 0, 0, 7, 8, 9});
      EXPECT_EQ(bp::test::values(bp::select(tensor, 0, 1)), (Floats{7, 8, 9}));
    }
    bp::synchronize(device);
    EXPECT_EQ(num_deleted, 1);
    EXPECT_EQ(maker.read(buffer), (Floats{0, 0, 0, 7, 8, 9})) << "the buffer ended with the tensor";
    maker.destroy_buffer(buffer);
  }

  void an_offset_is_where_the_tensor_begins() {
    const NativeHandle buffer = maker.make_buffer(Floats(22));
    {
      const Tensor tensor = over(buffer, 64);
      EXPECT_EQ(bp::native_memory(tensor).byte_offset, 64u);
      bp::add_(tensor, 1);
    }
    bp::synchronize(device);
    Floats expected(22);
    std::fill(expected.begin() + 16, expected.end(), 1.0F);
    EXPECT_EQ(maker.read(buffer), expected);
    EXPECT_NE(refused(buffer, 68), "no error")
        << "six numbers do not fit behind the seventeenth of 22";
    maker.destroy_buffer(buffer);
  }

  void the_deleter_waits_for_work_views_and_copies() {
    const NativeHandle buffer = maker.make_buffer({1, 2, 3, 4, 5, 6});
    const NativeHandle queue = maker.make_queue();
    {
      const Stream stream = bp::adopt_stream(device, queue);
      const bp::StreamGuard guard(stream);
      Tensor tensor = over(buffer);
      Tensor view = bp::select(tensor, 0, 1), copy = tensor;
      const Tensor threes = filled({3}, 3);
      maker.hold(queue);
      bp::copy_into(view, threes);
      tensor = {};
      copy = {};
      EXPECT_EQ(num_deleted, 0) << "a view lives";
      view = {};
      EXPECT_EQ(num_deleted, 0) << "work on the memory is under way";
      maker.let_go();
      stream.synchronize();
      EXPECT_EQ(num_deleted, 1);
    }
    bp::synchronize(device);
    EXPECT_EQ(num_deleted, 1);
    EXPECT_EQ(maker.read(buffer), (Floats{1, 2, 3, 3, 3, 3}));
    maker.destroy_queue(queue);
    maker.destroy_buffer(buffer);
  }

  void the_deleter_waits_for_other_streams_too() {
    const NativeHandle buffer = maker.make_buffer({1, 2, 3, 4, 5, 6});
    const NativeHandle queue = maker.make_queue();
    {
      const Stream other = bp::adopt_stream(device, queue);
      Tensor tensor = over(buffer);
      const Tensor fives = filled({2, 3}, 5);
      maker.hold(queue);
      {
        const bp::StreamGuard guard(other);
        bp::copy_into(tensor, fives);
      }
      bp::record_stream(tensor, other);
      std::thread later([this] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        EXPECT_EQ(num_deleted, 0);
        maker.let_go();
      });
      tensor = {};
      bp::synchronize(device);
      later.join();
    }
    bp::synchronize(device);
    EXPECT_EQ(num_deleted, 1);
    EXPECT_EQ(maker.read(buffer), Floats(6, 5));
    maker.destroy_queue(queue);
    maker.destroy_buffer(buffer);
  }

  // The deleter of none of these runs, nothing is left behind, and the next one works.
  void what_does_not_fit_is_refused_with_a_sentence() {
    using testing::HasSubstr;
    const std::int64_t living = bp::num_live_storages(device);
    const NativeHandle buffer = maker.make_buffer({1, 2, 3, 4, 5, 6});
    const NativeHandle small = maker.make_buffer({1, 2, 3});
    const NativeHandle foreign = maker.make_foreign_buffer();
    const std::string name = bp::device_name(device);
    EXPECT_EQ(refused({buffer.kind, 0}), "tensor_from_memory: the memory is null for shape [2, 3]");
    EXPECT_EQ(refused({"moon.rock", buffer.value}),
              "tensor_from_memory: " + name + " has no handle of kind 'moon.rock' for memory; " +
                  "there is " + std::string(buffer.kind));
    EXPECT_EQ(
        refused(buffer, 2),
        "tensor_from_memory: element 0 lies at 0x2, which is not a multiple of the 4 bytes that "
        "float32 needs; copy it to where it fits");
    EXPECT_THAT(refused(small), HasSubstr("12"));
    EXPECT_THAT(refused(buffer, 4), HasSubstr("28"));
    EXPECT_THAT(refused(foreign), HasSubstr(maker.says_of_foreign_buffer));
    for (const std::string& each : {refused(small), refused(foreign)})
      EXPECT_THAT(each, testing::EndsWith("device " + name + ")"));
    EXPECT_THAT(bp::test::error_of([&] {
                  bp::tensor_from_blob(&num_deleted, {1}, {1}, bp::f32, device, count,
                                       &num_deleted);
                }),
                HasSubstr("are not addresses"));
    EXPECT_EQ(num_deleted, 0);
    EXPECT_EQ(bp::num_live_storages(device), living);
    over(buffer);
    bp::synchronize(device);
    EXPECT_EQ(num_deleted, 1);
    maker.destroy_foreign_buffer(foreign);
    maker.destroy_buffer(small);
    maker.destroy_buffer(buffer);
  }

  void a_queue_of_the_applications_is_a_stream() {
    const NativeHandle buffer = maker.make_buffer({1, 2, 3, 4, 5, 6});
    const NativeHandle queue = maker.make_queue();
    {
      const Stream stream = bp::adopt_stream(device, queue);
      EXPECT_EQ(bp::native_handle(stream).value, queue.value);
      EXPECT_EQ(bp::native_handle(stream).kind, queue.kind);
      const bp::StreamGuard guard(stream);
      const Tensor tensor = over(buffer), twos = filled({2, 3}, 2);
      maker.hold(queue);
      bp::copy_into(tensor, twos);
      EXPECT_FALSE(stream.query()) << "the application's own work is earlier work of the stream";
      maker.let_go();
      stream.synchronize();
      // The application may have given it more by now, so that some devices have to look.
      bool is_idle = false;
      for (int i = 0; i < 5000 && !is_idle; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        is_idle = stream.query();
      }
      EXPECT_TRUE(is_idle);
      EXPECT_EQ(maker.read(buffer), Floats(6, 2));
    }
    maker.finish(queue);  // it is the application's still
    maker.destroy_queue(queue);
    maker.destroy_buffer(buffer);
  }

  void one_side_waits_for_the_other() {
    const NativeHandle buffer = maker.make_buffer({1, 2, 3, 4, 5, 6});
    const NativeHandle queue = maker.make_queue();
    Tensor tensor = over(buffer);
    const Tensor fours = filled({2, 3}, 4);
    const Stream stream(device);
    maker.hold(queue);
    bp::wait_for_native(stream, queue);
    {
      const bp::StreamGuard guard(stream);
      bp::copy_into(tensor, fours);
    }
    EXPECT_FALSE(stream.query());
    EXPECT_EQ(maker.read(buffer), (Floats{1, 2, 3, 4, 5, 6}));
    maker.let_go();
    bp::make_native_wait(stream, queue);
    maker.finish(queue);
    EXPECT_EQ(maker.read(buffer), Floats(6, 4));
    stream.synchronize();
    tensor = {};
    bp::synchronize(device);
    maker.destroy_queue(queue);
    maker.destroy_buffer(buffer);
  }

  void a_queue_that_does_not_fit_is_refused_with_a_sentence() {
    const NativeHandle foreign = maker.make_foreign_queue();
    EXPECT_THAT(refused_queue(foreign), testing::HasSubstr("belongs to another context"));
    EXPECT_NE(refused_queue({foreign.kind, 0}), "no error");
    EXPECT_THAT(refused_queue({"moon.rock", 1}),
                testing::HasSubstr("there is " + std::string(foreign.kind)));
    maker.destroy_foreign_queue(foreign);
  }

  void handles_come_out_by_kind() {
    const bp::NativeKinds kinds = bp::native_kinds(device);
    for (const auto& [list, kind] : {std::pair(kinds.device, maker.context_kind),
                                     {kinds.stream, maker.queue_kind},
                                     {kinds.memory, maker.buffer_kind}}) {
      ASSERT_FALSE(list.empty());
      EXPECT_EQ(list.front(), kind);
    }
    const Tensor ours = bp::to(bp::tensor({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}), device);
    const bp::NativeMemory memory = bp::native_memory(ours);
    bp::synchronize(device);
    const Floats all = maker.read(memory.handle);
    ASSERT_GE(all.size(), memory.byte_offset / 4 + 6);
    EXPECT_EQ(all[memory.byte_offset / 4 + 5], 6);
    maker.finish(bp::native_handle(Stream::current(device)));
    EXPECT_THAT(bp::test::error_of([&] { bp::native_handle(device, "moon.rock"); }),
                testing::HasSubstr("there is " + std::string(maker.context_kind)));
  }

  Device device = bp::device(Maker::device_name);
  Maker maker{device};
  std::atomic<int> num_deleted{0};
};

// The checks as tests of `suite`, which is an Adopting<...>.
#define ADOPTING_TEST(suite, check) \
  TEST_F(suite, check) {            \
    check();                        \
  }

}  // namespace adopting
