// Streams and devices that a backend has lost, and errors that pass from one stream to those that wait for it.
#include <thread>

#include <backplane/runtime/stream.hpp>

#include "fake_plugin.hpp"

namespace bp::test {
namespace {

struct Lost : testing::Test {
  FakePlugin fake;
  std::optional<Registered> registered;
  Lost() { fake.make_asynchronous(); }
  ~Lost() override {
    registered.reset();
    EXPECT_EQ(fake.num_waits_for_lost, 0) << "somebody waited for a stream that was lost";
  }
  DeviceRecord& open() {
    if (!registered) registered.emplace(fake);
    return registered->record();
  }
  Device device() { return open().device; }
  Tensor tensor(std::int64_t bytes) { return empty_tensor({bytes}, u8, device()); }
  void copy_on(const Stream& stream) {
    const Tensor on_device = tensor(16);
    const bp_region there{on_device.impl()->storage->handle, on_device.impl()->storage->offset, 16};
    copy_region(open(), there, there, BP_COPY_WITHIN, *stream.impl());
  }
};

TEST_F(Lost, a_stream_is_replaced_where_it_is_and_the_next_call_works) {
  for (const bool is_default : {false, true}) {
    const Stream stream = is_default ? Stream::default_of(device()) : Stream(device());
    bp_stream* const before = stream.impl()->raw;
    fake.stream_of(stream).late_error = BP_STREAM_LOST;
    EXPECT_EQ(error_of([&] { stream.synchronize(); }).error_class(), ErrorClass::stream_lost);
    EXPECT_NE(stream.impl()->raw, before);
    EXPECT_NO_THROW(copy_on(stream));
    EXPECT_NO_THROW(stream.synchronize());
    EXPECT_TRUE(stream.query());
  }
}

// The call after the loss is the first to hear of it.
TEST_F(Lost, a_stream_that_refuses_work_is_replaced_as_well) {
  const Stream stream(device());
  fake.stream_of(stream).is_lost = true;
  EXPECT_EQ(error_of([&] { copy_on(stream); }).error_class(), ErrorClass::stream_lost);
  EXPECT_NO_THROW(copy_on(stream));
  EXPECT_NO_THROW(stream.synchronize());
}

TEST_F(Lost, memory_that_waited_for_the_stream_comes_back) {
  const Stream stream(device());
  const Event event(device());
  std::int64_t waiting = 1;
  release_after(
      *stream.impl(), [](void* count) { --*static_cast<std::int64_t*>(count); }, &waiting);
  fake.give_work(stream);
  EXPECT_EQ(waiting, 1);
  fake.stream_of(stream).late_error = BP_STREAM_LOST;
  EXPECT_EQ(error_of([&] { stream.query(); }).error_class(), ErrorClass::stream_lost);
  EXPECT_EQ(waiting, 0);
}

TEST_F(Lost, other_streams_go_on) {
  const Stream lost(device()), other(device());
  int done = 0;
  fake.give_work(other, [&] { ++done; });
  fake.stream_of(lost).late_error = BP_STREAM_LOST;
  EXPECT_NE(text_of([&] { synchronize(device()); }).find("a kernel failed"), std::string::npos);
  EXPECT_EQ(done, 1);
  EXPECT_NO_THROW(synchronize(device()));
}

TEST_F(Lost, one_that_cannot_be_replaced_stays_so_and_says_what_to_do) {
  const Stream stream(device());
  fake.stream_of(stream).is_lost = true;
  fake.queue.create_stream = nullptr;  // too late for the core to see: its table is a copy
  const auto refuse = [](bp_device* on, std::int32_t, bp_stream**) {
    return FakePlugin::of(on).fail(BP_OUT_OF_MEMORY, "no stream left");
  };
  bp_queue& table = const_cast<bp_queue&>(*open().queue);
  const auto kept = std::exchange(table.create_stream, refuse);
  EXPECT_EQ(error_of([&] { copy_on(stream); }).error_class(), ErrorClass::stream_lost);
  EXPECT_EQ(text_of([&] { stream.synchronize(); }),
            "synchronize: a stream of acme:0 is lost; drop everything on the device and call "
            "reset_device()");
  // As soon as there is one again, it takes the place.
  table.create_stream = kept;
  EXPECT_EQ(error_of([&] { copy_on(stream); }).error_class(), ErrorClass::stream_lost);
  EXPECT_NO_THROW(copy_on(stream));
  EXPECT_NO_THROW(stream.synchronize());
}

TEST_F(Lost, threads_that_share_the_stream_all_hear_of_it_and_go_on) {
  const Stream stream(device());
  for (int round = 0; round < 20; ++round) {
    fake.stream_of(stream).is_lost = true;
    std::vector<std::thread> threads;
    std::atomic<int> done{0};
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int attempt = 0; attempt < 3; ++attempt) try {
            copy_on(stream);
            ++done;
            return;
          } catch (const Error& error) {
            EXPECT_EQ(error.error_class(), ErrorClass::stream_lost);
          }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(done, 4);
  }
  stream.synchronize();
}

// ---- From one stream to another ----

TEST_F(Lost, an_error_reaches_the_stream_that_waited_and_stays_with_its_own) {
  const Stream failed(device()), waiting(device()), third(device()), unrelated(device());
  Event event(device()), later(device());
  fake.give_work(failed);
  event.record(failed);
  event.wait(waiting);
  later.record(waiting);
  later.wait(third);
  fake.stream_of(failed).late_error = BP_INTERNAL;
  EXPECT_NO_THROW(unrelated.synchronize());
  EXPECT_NE(text_of([&] { third.synchronize(); }).find("a kernel failed"), std::string::npos);
  EXPECT_NE(text_of([&] { waiting.synchronize(); }).find("a kernel failed"), std::string::npos);
  EXPECT_NE(text_of([&] { failed.synchronize(); }).find("a kernel failed"), std::string::npos);
  for (const Stream* stream : {&failed, &waiting, &third}) EXPECT_NO_THROW(stream->synchronize());
}

TEST_F(Lost, a_stream_that_waited_for_good_work_has_no_error) {
  const Stream passed(device()), waiting(device());
  Event event(device());
  fake.give_work(passed);
  event.record(passed);
  event.wait(waiting);
  EXPECT_NO_THROW(waiting.synchronize());
  passed.synchronize();
  // What fails there later is none of its business any more.
  fake.stream_of(passed).late_error = BP_INTERNAL;
  EXPECT_NO_THROW(waiting.synchronize());
  EXPECT_ANY_THROW(passed.synchronize());
}

// ---- Devices ----

TEST_F(Lost, a_device_is_closed_and_opened_again) {
  {
    const Stream stream(device());
    const Tensor kept = tensor(100);
    fake.stream_of(stream).late_error = BP_DEVICE_LOST;
    EXPECT_EQ(error_of([&] { stream.synchronize(); }).error_class(), ErrorClass::device_lost);
    EXPECT_EQ(error_of([&] { tensor(8); }).error_class(), ErrorClass::device_lost);
    EXPECT_EQ(error_of([&] { stream.synchronize(); }).error_class(), ErrorClass::device_lost);
    const Device lost = registered->device();
    EXPECT_EQ(text_of([&] { reset_device(lost); }),
              "reset_device: acme:0 cannot be closed; in use: 1 tensor's storage, 1 stream; drop "
              "them first");
  }
  const Device lost = registered->device();
  reset_device(lost);
  EXPECT_EQ(fake.num_closed, 1);
  const Tensor again = tensor(100);
  EXPECT_EQ(fake.num_opened, 2);
  EXPECT_NO_THROW(synchronize(lost));
}

TEST_F(Lost, nothing_waits_for_a_device_that_is_lost) {
  const Stream stream(device());
  Tensor queued = tensor(100);
  copy_on(stream);
  note_use(*queued.impl(), *stream.impl());
  fake.stream_of(stream).late_error = BP_DEVICE_LOST;
  EXPECT_ANY_THROW(stream.synchronize());
  queued = {};
  EXPECT_ANY_THROW(stream.synchronize());
  EXPECT_ANY_THROW(stream.query());
  EXPECT_EQ(fake.num_waits_for_lost, 0);
}

TEST_F(Lost, a_device_that_was_never_used_needs_no_reset) {
  FakePlugin other("other");
  const Registered only(other);
  EXPECT_NO_THROW(reset_device(only.device()));
  EXPECT_EQ(other.num_closed, 0);
  EXPECT_EQ(error_of([] { reset_device({0}); }).error_class(), ErrorClass::bad_argument);
}

}  // namespace
}  // namespace bp::test
