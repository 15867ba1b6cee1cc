// Streams, events, late errors, and memory that several streams use.
#include <thread>

#include <backplane/runtime/stream.hpp>

#include "fake_plugin.hpp"

namespace bp::test {
namespace {

struct Streams : testing::Test {
  FakePlugin fake;
  std::optional<Registered> registered;
  Streams() { fake.make_asynchronous(); }
  DeviceRecord& open() {
    if (!registered) registered.emplace(fake);
    return registered->record();
  }
  Device device() { return open().device; }
  Tensor tensor(std::int64_t bytes) { return empty_tensor({bytes}, u8, device()); }
};

TEST_F(Streams, the_default_one_is_current_until_a_guard_says_otherwise) {
  EXPECT_EQ(Stream::current(device()).impl(), Stream::default_of(device()).impl());
  const Stream other(device());
  EXPECT_NE(other.impl(), open().default_stream);
  {
    const StreamGuard guard(other);
    EXPECT_EQ(Stream::current(device()).impl(), other.impl());
    std::thread([&] { EXPECT_EQ(Stream::current(device()).impl(), open().default_stream); }).join();
  }
  EXPECT_EQ(Stream::current(device()).impl(), open().default_stream);
}

TEST_F(Streams, dropped_ones_are_used_again) {
  StreamImpl* first = nullptr;
  {
    const Stream stream(device());
    first = stream.impl();
    const Stream copy = stream;
    EXPECT_EQ(copy.impl(), first);
  }
  const Stream again(device()), another(device()), urgent(device(), -1);
  EXPECT_EQ(again.impl(), first);
  EXPECT_NE(another.impl(), first);
  EXPECT_EQ(urgent.impl()->priority, -1);
  EXPECT_EQ(fake.num_streams, 4);
}

TEST_F(Streams, those_in_use_are_found_by_number) {
  EXPECT_EQ(Stream::numbered(device(), 0).impl(), open().default_stream);
  std::uint32_t number = 0;
  {
    const Stream stream(device()), other(device());
    number = stream.number();
    EXPECT_NE(number, other.number());
    EXPECT_EQ(Stream::numbered(device(), number).impl(), stream.impl());
    EXPECT_EQ(stream.impl()->refs.load(), 1u);
  }
  EXPECT_THROW(Stream::numbered(device(), number), Error);
  EXPECT_THROW(Stream::numbered(device(), 12345), Error);
  const Stream again(device());
  EXPECT_EQ(Stream::numbered(device(), again.number()).impl(), again.impl());
}

TEST_F(Streams, a_backend_without_them_has_one) {
  FakePlugin plain("plain");
  const Registered only(plain);
  const Stream a(only.device()), b(only.device());
  EXPECT_EQ(a.impl(), b.impl());
  EXPECT_EQ(a.impl()->raw, nullptr);
  EXPECT_TRUE(a.query());
}

TEST_F(Streams, query_and_synchronize_follow_the_work) {
  const Stream stream(device());
  bool done = false;
  fake.give_work(stream, [&] { done = true; });
  EXPECT_FALSE(stream.query());
  stream.synchronize();
  EXPECT_TRUE(done);
  EXPECT_TRUE(stream.query());
}

TEST_F(Streams, synchronizing_a_device_waits_for_all_of_them_and_gives_the_first_error) {
  const Stream a(device()), b(device());
  int done = 0;
  fake.give_work(a, [&] { ++done; });
  fake.give_work(b, [&] { ++done; });
  fake.stream_of(a).late_error = BP_STREAM_LOST;
  const Error error = error_of([&] { synchronize(device()); });
  EXPECT_EQ(error.error_class(), ErrorClass::stream_lost);
  EXPECT_EQ(done, 2);
  EXPECT_NO_THROW(synchronize(device()));
}

TEST_F(Streams, a_late_error_comes_out_once_and_names_the_last_operator) {
  const Stream stream(device());
  stream.impl()->last_operator = "matmul";
  fake.stream_of(stream).late_error = BP_INTERNAL;
  EXPECT_EQ(text_of([&] { stream.synchronize(); }),
            "synchronize after matmul: a kernel failed (plugin acme, device acme:0)");
  EXPECT_NO_THROW(stream.synchronize());
  fake.stream_of(stream).late_error = BP_INTERNAL;
  EXPECT_EQ(text_of([&] { stream.query(); }),
            "query after matmul: a kernel failed (plugin acme, device acme:0)");
  EXPECT_TRUE(stream.query());
}

TEST_F(Streams, an_error_that_the_core_meets_on_its_own_is_kept_for_the_application) {
  fake.capacity = 64 * mib;
  const Stream stream = Stream::default_of(device());
  { const Tensor a = tensor(40 * mib); }
  fake.stream_of(stream).late_error = BP_INTERNAL;
  // Frees the cache, for which the core waits for the stream.
  const Tensor b = tensor(50 * mib);
  EXPECT_EQ(text_of([&] { stream.synchronize(); }),
            "synchronize: a kernel failed (plugin acme, device acme:0)");
  EXPECT_NO_THROW(stream.synchronize());
}

TEST_F(Streams, copies_are_ordered_and_their_errors_thrown) {
  const Tensor on_device = tensor(16);
  char from[16] = "fifteen letters", to[16] = {};
  const bp_region there{on_device.impl()->storage->handle, on_device.impl()->storage->offset, 16};
  copy_region(open(), there, {reinterpret_cast<bp_handle>(from), 0, 16}, BP_COPY_FROM_HOST,
              *open().default_stream);
  copy_region(open(), {reinterpret_cast<bp_handle>(to), 0, 16}, there, BP_COPY_TO_HOST,
              *open().default_stream);
  EXPECT_EQ(to[0], 0);
  synchronize(device());
  EXPECT_STREQ(to, from);
  fake.copy_code = BP_INTERNAL;
  EXPECT_EQ(
      text_of([&] { copy_region(open(), there, there, BP_COPY_WITHIN, *open().default_stream); }),
      "copy: the bus is broken (plugin acme, device acme:0)");
}

TEST_F(Streams, events_name_points_of_a_stream) {
  const Stream stream(device()), other(device());
  Event event(device());
  EXPECT_TRUE(event.query());
  fake.give_work(stream);
  event.record(stream);
  fake.give_work(stream);
  EXPECT_FALSE(event.query());
  event.wait(other);
  event.synchronize();
  EXPECT_TRUE(event.query());
  EXPECT_FALSE(stream.query());
  EXPECT_EQ(error_of([&] { event.elapsed_ms(event); }).error_class(), ErrorClass::unsupported);
  synchronize(device());
}

TEST_F(Streams, an_event_belongs_to_its_device) {
  FakePlugin plain("plain");
  const Registered only(plain);
  Event event(only.device());
  EXPECT_EQ(text_of([&] { event.record(Stream::current(device())); }),
            "record: the event belongs to plain:0 and the stream to acme:0; make the event on the "
            "stream's device");
  event.record(Stream::current(only.device()));
  EXPECT_TRUE(event.query());
}

TEST_F(Streams, each_has_its_own_pool) {
  const Stream other(device());
  StreamImpl& first = *open().default_stream;
  Storage* a = open().allocator ? tensor(5000).impl()->storage : nullptr;
  fake.give_work(Stream::default_of(device()));
  // Freed on the default stream, whose work may still use it: not for another stream.
  const StreamGuard guard(other);
  const Tensor b = tensor(5000);
  EXPECT_NE(b.impl()->storage, a);
  EXPECT_NE(&first, other.impl());
  synchronize(device());
}

TEST_F(Streams, a_recorded_stream_holds_the_memory_until_it_has_passed) {
  const Stream other(device());
  Tensor used = tensor(5000);
  Storage* storage = used.impl()->storage;
  record_stream(used, other);
  record_stream(used, other);
  fake.give_work(other);
  used = {};
  const Tensor meanwhile = tensor(5000);
  EXPECT_NE(meanwhile.impl()->storage, storage);
  EXPECT_EQ(memory_statistics(device()).num_releases, 1u);
  fake.finish(other);
  const Tensor after = tensor(5000);
  EXPECT_EQ(after.impl()->storage, storage);
}

TEST_F(Streams, exhaustion_waits_for_recorded_streams) {
  fake.capacity = 64 * mib;
  const Stream other(device());
  {
    const Tensor used = tensor(60 * mib);
    record_stream(used, other);
    fake.give_work(other);
  }
  const Tensor next = tensor(60 * mib);
  EXPECT_TRUE(other.query());
}

TEST_F(Streams, recorded_streams_work_without_events) {
  fake.queue.create_event = nullptr;
  fake.queue.h.size = offsetof(bp_queue, create_event);
  const Stream other(device());
  Tensor used = tensor(5000);
  Storage* storage = used.impl()->storage;
  record_stream(used, other);
  fake.give_work(other);
  used = {};
  const Tensor meanwhile = tensor(5000);
  EXPECT_NE(meanwhile.impl()->storage, storage);
  fake.finish(other);
  const Tensor after = tensor(5000);
  EXPECT_EQ(after.impl()->storage, storage);
}

TEST_F(Streams, those_that_use_the_memory_are_noted_once_and_the_own_one_never) {
  const Stream own = Stream::default_of(device()), other(device());
  Tensor used = tensor(5000);
  const Storage* storage = used.impl()->storage;
  note_use(*used.impl(), *own.impl());
  fake.give_work(own);
  used = {};
  EXPECT_EQ(tensor(5000).impl()->storage, storage) << "work of its own stream comes in order";
  used = tensor(5000);
  const int num_events = fake.num_events;
  for (int i = 0; i < 10; ++i) note_use(*used.impl(), *other.impl());
  fake.give_work(other);
  used = {};
  EXPECT_EQ(fake.num_events, num_events + 1);
  EXPECT_NE(tensor(5000).impl()->storage, storage);
}

TEST_F(Streams, are_asked_once_however_much_memory_waits_for_them) {
  static std::atomic<int> num_asked;
  num_asked = 0;
  fake.queue.query_event = [](bp_device* device, bp_event* event) {
    ++num_asked;
    return FakePlugin::query_event(device, event);
  };
  const Stream first(device()), second(device());
  std::vector<Tensor> used;
  for (int i = 0; i < 100; ++i) used.push_back(tensor(5000));
  for (const Tensor& each : used)
    for (const Stream* stream : {&first, &second}) record_stream(each, *stream);
  for (const Stream* stream : {&first, &second}) fake.give_work(*stream);
  used.clear();
  tensor(5000);
  EXPECT_LE(num_asked, 2);
  // Work that comes later than the releases is not waited for.
  const MemoryStatistics before = memory_statistics(device());
  for (const Stream* stream : {&first, &second}) {
    fake.finish(*stream);
    fake.give_work(*stream);
  }
  for (int i = 0; i < 100; ++i) used.push_back(tensor(5000));
  EXPECT_EQ(memory_statistics(device()).reserved_bytes, before.reserved_bytes);
}

TEST_F(Streams, get_no_event_while_the_device_records_them) {
  static std::atomic<int> num_recorded;
  num_recorded = 0;
  fake.queue.record_event = [](bp_device* device, bp_event* event, bp_stream* stream) {
    ++num_recorded;
    return FakePlugin::record_event(device, event, stream);
  };
  const Stream other(device());
  Tensor used = tensor(5000);
  Storage* storage = used.impl()->storage;
  record_stream(used, other);
  set_recorded(*other.impl(), true);
  used = {};
  EXPECT_NE(tensor(5000).impl()->storage, storage);
  EXPECT_EQ(num_recorded, 0);
  set_recorded(*other.impl(), false);
  tensor(5000);
  EXPECT_EQ(tensor(5000).impl()->storage, storage);
}

struct Flag {
  static void raise(void* flag) { *static_cast<bool*>(flag) = true; }
};

TEST_F(Streams, a_release_waits_for_the_work_before_it_only) {
  const Stream stream = Stream::default_of(device());
  bool first = false, second = false;
  fake.give_work(stream);
  release_after(*stream.impl(), Flag::raise, &first);
  EXPECT_FALSE(first);
  fake.finish(stream);
  fake.give_work(stream);
  release_after(*stream.impl(), Flag::raise, &second);
  const Tensor polls = tensor(5000);
  EXPECT_TRUE(first);
  EXPECT_FALSE(second);
  stream.synchronize();
  EXPECT_TRUE(second);
}

TEST_F(Streams, releases_work_without_events_and_at_once_on_a_synchronous_device) {
  FakePlugin late("late"), plain("plain");
  late.flags = 0;
  const Registered asynchronous(late), synchronous(plain);
  bool done = false;
  release_after(*asynchronous.record().default_stream, Flag::raise, &done);
  EXPECT_FALSE(done);
  synchronize(asynchronous.device());
  EXPECT_TRUE(done);
  done = false;
  release_after(*synchronous.record().default_stream, Flag::raise, &done);
  EXPECT_TRUE(done);
}

TEST_F(Streams, a_fault_is_a_sentence_at_the_next_synchronize_and_once) {
  const Stream stream = Stream::default_of(device());
  const bp_region word = arm_fault(*stream.impl(), "gather");
  EXPECT_EQ(word.bytes, 8u);
  EXPECT_NO_THROW(stream.synchronize());
  const bp_region again = arm_fault(*stream.impl(), "gather");
  EXPECT_EQ(again.handle, word.handle);
  arm_fault(*stream.impl(), "index_select");
  fake.give_work(stream, [&] { *reinterpret_cast<std::uint64_t*>(word.handle + word.offset) = 1; });
  const Error error = error_of([&] { stream.synchronize(); });
  EXPECT_EQ(error.error_class(), ErrorClass::bad_argument);
  EXPECT_STREQ(error.what(),
               "gather or index_select: index out of range (device acme:0); what was computed from "
               "it since the last synchronize is undefined");
  arm_fault(*stream.impl(), "gather");
  EXPECT_NO_THROW(stream.synchronize());
  EXPECT_EQ(num_live_storages(device()), 0);
}

TEST_F(Streams, memory_of_the_application_is_given_back_when_its_stream_has_passed) {
  fake.flags |= BP_DEVICE_REAL_ADDRESSES;
  char bytes[64];
  bool deleted = false;
  Tensor blob = tensor_from_blob(bytes, {16}, {1}, f32, device(), Flag::raise, &deleted);
  EXPECT_EQ(num_live_storages(device()), 1);
  EXPECT_EQ(blob.impl()->abi.dl.data, bytes);
  fake.give_work(Stream::default_of(device()));
  blob = {};
  EXPECT_FALSE(deleted);
  synchronize(device());
  EXPECT_TRUE(deleted);
  EXPECT_EQ(num_live_storages(device()), 0);
}

TEST_F(Streams, a_backend_can_go_as_soon_as_releases_have_run) {
  fake.flags |= BP_DEVICE_REAL_ADDRESSES;
  char bytes[64];
  bool deleted = false;
  { const Tensor blob = tensor_from_blob(bytes, {16}, {1}, f32, device(), Flag::raise, &deleted); }
  registered.reset();
  EXPECT_TRUE(deleted);
}

}  // namespace
}  // namespace bp::test
