// Large blocks in the order of a stream, of a plugin that offers bp.stream_memory.
#include <gmock/gmock.h>

#include <backplane/extensions/stream_memory.h>
#include <backplane/runtime/capturing.hpp>
#include <backplane/runtime/quiet.hpp>

#include "fake_plugin.hpp"

namespace bp::test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t large = 9 * mib;

struct StreamMemoryPlugin : FakePlugin {
  bp_stream_memory table{};
  std::atomic<int> num_asked{0}, num_trims{0};
  bp_code code = BP_OK;
  bp_stream* asked_for = nullptr;
  std::vector<bp_stream*> released_on;
  bool gives_room = false;  // once it is trimmed

  StreamMemoryPlugin() {
    make_asynchronous();
    table.h = {sizeof table, BP_TYPE_EXTENSION, nullptr};
    table.allocate = allocate_on;
    table.release = release_on;
    table.trim = [](bp_device* device) {
      StreamMemoryPlugin& self = me(device);
      ++self.num_trims;
      if (self.gives_room) self.capacity = ~0ull;
    };
    plugin.extension = [](void* self, const char* name, std::uint32_t) -> const bp_header* {
      auto& offering = static_cast<StreamMemoryPlugin&>(of(self));
      return std::strcmp(name, BP_STREAM_MEMORY) == 0 ? &offering.table.h : nullptr;
    };
  }
  static StreamMemoryPlugin& me(bp_device* device) {
    return static_cast<StreamMemoryPlugin&>(of(device));
  }
  static bp_code allocate_on(bp_device* device, std::uint64_t bytes, std::uint64_t alignment,
                             bp_stream* stream, bp_handle* out) {
    StreamMemoryPlugin& self = me(device);
    ++self.num_asked;
    self.asked_for = stream;
    if (self.code != BP_OK) return self.fail(self.code, "no pool today");
    return self.allocate_now(bytes, alignment, out);
  }
  static void release_on(bp_device* device, bp_handle handle, bp_stream* stream) {
    me(device).released_on.push_back(stream);
    release(device, handle);
  }
};

class StreamMemory : public testing::Test {
 protected:
  Held take(const Stream& stream, std::uint64_t bytes = large) {
    const StreamGuard guard(stream);
    return {acme.record(), bytes};
  }
  MemoryStatistics statistics() { return memory_statistics(acme.device()); }

  StreamMemoryPlugin fake;
  Registered acme{fake};
};

TEST_F(StreamMemory, serves_large_blocks_in_the_order_of_their_stream) {
  const Stream stream(acme.device());
  Held held = take(stream);
  EXPECT_EQ(fake.num_asked, 1);
  EXPECT_EQ(fake.asked_for, stream.impl()->raw.load());
  EXPECT_EQ(statistics().allocated_bytes, large);
  EXPECT_EQ(statistics().reserved_bytes, large) << "exactly what was asked for";
  fake.give_work(stream);
  held.drop();
  EXPECT_EQ(fake.stream_of(stream).work.size(), 1u) << "nobody has waited";
  EXPECT_THAT(fake.released_on, testing::ElementsAre(stream.impl()->raw.load()));
  const MemoryStatistics after = statistics();
  EXPECT_EQ(after.allocated_bytes, 0u);
  EXPECT_EQ(after.reserved_bytes, 0u) << "nothing is kept";
  EXPECT_EQ(after.peak_reserved_bytes, large);
  EXPECT_EQ(after.num_backend_allocations, 1u);
  EXPECT_EQ(after.num_backend_releases, 1u);
  EXPECT_EQ(after.num_allocations, after.num_releases);
  fake.finish(stream);
}

TEST_F(StreamMemory, leaves_smaller_blocks_to_the_pool) {
  const Stream stream(acme.device());
  take(stream, 8 * mib).drop();
  take(stream, 1000).drop();
  EXPECT_EQ(fake.num_asked, 0);
  take(stream, 8 * mib + 1).drop();
  EXPECT_EQ(fake.num_asked, 1);
}

TEST_F(StreamMemory, is_listed_and_summed_while_it_is_held) {
  const Stream stream(acme.device());
  const Held held = take(stream);
  const std::vector<MemoryBlockInfo> blocks = memory_snapshot(acme.device());
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].bytes, large);
  EXPECT_TRUE(blocks[0].in_use);
  EXPECT_EQ(blocks[0].stream, stream.impl()->id);
  EXPECT_EQ(memory_summary(acme.device()),
            "held by tensors 9.00 MiB in 1 block (largest 9.00 MiB), cached 0 B");
}

TEST_F(StreamMemory, waits_for_the_other_streams_that_used_it) {
  const Stream own(acme.device()), other(acme.device());
  Held held = take(own);
  fake.give_work(other);
  detail::note_use_elsewhere(*held.storage, *other.impl());
  held.drop();
  take(own).drop();
  EXPECT_EQ(fake.released_on.size(), 1u) << "the second block alone";
  EXPECT_EQ(statistics().allocated_bytes, 0u);
  EXPECT_EQ(statistics().reserved_bytes, large) << "the first is still used";
  fake.finish(other);
  take(own).drop();
  EXPECT_EQ(fake.released_on.size(), 3u);
  EXPECT_THAT(fake.released_on, testing::Each(own.impl()->raw.load()));
  EXPECT_EQ(statistics().reserved_bytes, 0u);
}

TEST_F(StreamMemory, is_not_asked_for_below_a_limit) {
  const Stream stream(acme.device());
  set_memory_limit(acme.device(), 16 * mib);
  EXPECT_EQ(fake.num_trims, 1) << "what the plugin keeps is in no count";
  {
    const Held held = take(stream);
    EXPECT_EQ(fake.num_asked, 0);
    EXPECT_THAT(text_of([&] { take(stream); }), HasSubstr("limit 16.00 MiB"));
  }
  set_memory_limit(acme.device(), 0);
  const Held held = take(stream, 12 * mib);
  EXPECT_EQ(fake.num_asked, 1);
}

TEST_F(StreamMemory, is_asked_once_more_when_streams_are_idle_and_caches_empty) {
  const Stream stream(acme.device());
  const Held held = take(stream);
  fake.give_work(stream);
  fake.capacity = large;
  fake.gives_room = true;
  const Held more = take(stream);
  EXPECT_EQ(fake.stream_of(stream).work.size(), 0u);
  EXPECT_EQ(fake.num_trims, 1);
  EXPECT_EQ(fake.num_asked, 3);
  EXPECT_EQ(statistics().num_retries, 1u);
}

TEST_F(StreamMemory, says_what_is_held_when_there_is_none_left) {
  const Stream stream(acme.device());
  const Held held = take(stream);
  fake.capacity = large;
  EXPECT_EQ(text_of([&] { take(stream); }),
            "acme:0: out of memory: asked 9.00 MiB; held by tensors 9.00 MiB in 1 block (largest "
            "9.00 MiB), cached 0 B; free tensors (plugin acme: the card is full)");
  EXPECT_EQ(statistics().reserved_bytes, large);
  EXPECT_EQ(statistics().num_out_of_memory, 1u);
}

TEST_F(StreamMemory, makes_room_for_the_pool_as_well) {
  const Stream stream(acme.device());
  fake.capacity = 0;
  fake.gives_room = true;
  const Held small = take(stream, 1000);
  EXPECT_EQ(fake.num_trims, 1);
}

TEST_F(StreamMemory, is_not_asked_again_by_a_device_that_has_none) {
  const Stream stream(acme.device());
  fake.code = BP_UNSUPPORTED;
  fake.give_work(stream);
  const Held held = take(stream), other = take(stream);
  EXPECT_EQ(fake.num_asked, 1);
  EXPECT_EQ(fake.stream_of(stream).work.size(), 1u) << "nobody has waited";
  EXPECT_EQ(fake.num_held, 2);
  EXPECT_EQ(statistics().num_retries, 0u);
}

TEST_F(StreamMemory, that_fails_says_what_the_plugin_said) {
  const Stream stream(acme.device());
  fake.code = BP_INTERNAL;
  EXPECT_EQ(text_of([&] { take(stream); }), "allocate: no pool today (plugin acme, device acme:0)");
  EXPECT_EQ(statistics().reserved_bytes, 0u);
}

TEST_F(StreamMemory, gives_way_to_an_applications_allocator) {
  const Stream stream(acme.device());
  CustomAllocator custom;
  custom.context = &fake;
  custom.allocate = [](void* self, std::uint64_t bytes, std::uint64_t alignment, bp_handle* out) {
    return static_cast<StreamMemoryPlugin*>(self)->allocate_now(bytes, alignment, out);
  };
  custom.release = [](void* self, bp_handle handle) {
    FakePlugin::release(static_cast<bp_device*>(self), handle);
  };
  set_custom_allocator(acme.device(), custom);
  const Held held = take(stream);
  EXPECT_EQ(fake.num_asked, 0);
}

TEST_F(StreamMemory, neither_comes_nor_goes_on_a_stream_that_the_device_records) {
  const Stream stream(acme.device());
  Held held = take(stream);
  set_recorded(*stream.impl(), true);
  held.drop();
  EXPECT_EQ(take(stream).storage->bytes, large);
  EXPECT_EQ(fake.num_asked, 1);
  EXPECT_EQ(fake.released_on.size(), 0u);
  EXPECT_EQ(statistics().allocated_bytes, 0u);
  set_recorded(*stream.impl(), false);
  take(stream).drop();
  EXPECT_EQ(fake.num_asked, 2);
  EXPECT_EQ(fake.released_on.size(), 2u);
}

TEST_F(StreamMemory, of_a_lost_stream_goes_without_its_order) {
  const Stream stream(acme.device());
  Held held = take(stream);
  fake.stream_of(stream).late_error = BP_STREAM_LOST;
  EXPECT_THROW(stream.synchronize(), Error);
  held.drop();
  EXPECT_EQ(fake.num_held, 0);
  take(stream).drop();
  EXPECT_EQ(fake.asked_for, stream.impl()->raw.load()) << "of the stream in its place";
}

TEST_F(StreamMemory, of_a_lost_device_goes_without_its_order) {
  const Stream stream(acme.device());
  Held held = take(stream);
  fake.stream_of(stream).late_error = BP_DEVICE_LOST;
  EXPECT_THROW(stream.synchronize(), Error);
  held.drop();
  EXPECT_EQ(fake.released_on.size(), 0u);
  EXPECT_EQ(fake.num_held, 0);
}

TEST_F(StreamMemory, needs_no_quiet) {
  const Stream held_up(acme.device()), stream(acme.device());
  fake.give_work(held_up);
  note_foreign_work(held_up);
  take(stream).drop();
  EXPECT_EQ(fake.num_asked, 1);
  EXPECT_EQ(fake.stream_of(held_up).work.size(), 1u) << "nobody has waited";
  take(stream, 1000).drop();
  EXPECT_EQ(fake.stream_of(held_up).work.size(), 0u) << "the pool's memory waits";
}

TEST_F(StreamMemory, that_the_plugin_keeps_is_trimmed_by_empty_cache) {
  empty_cache(acme.device());
  EXPECT_EQ(fake.num_trims, 1);
}

TEST(StreamMemoryOfASynchronousDevice, comes_and_goes_with_its_tensors) {
  StreamMemoryPlugin fake;
  fake.flags |= BP_DEVICE_SYNCHRONOUS;
  const Registered acme(fake);
  const Stream stream(acme.device());
  const StreamGuard guard(stream);
  { const Held held(acme.record(), large); }
  EXPECT_EQ(fake.num_asked, 1);
  EXPECT_EQ(fake.num_held, 0);
  EXPECT_EQ(memory_statistics(acme.device()).reserved_bytes, 0u);
}

TEST(StreamMemoryOfADeviceThatCutsNothing, serves_large_blocks_alone) {
  StreamMemoryPlugin fake;
  fake.flags &= ~std::uint32_t{BP_DEVICE_CAN_SUBALLOCATE};
  const Registered acme(fake);
  { const Held held(acme.record(), large), small(acme.record(), 100000); }
  EXPECT_EQ(fake.num_asked, 1);
  EXPECT_EQ(fake.num_held, 1) << "the small one is kept";
}

TEST(StreamMemoryWithoutTrim, is_used_all_the_same) {
  StreamMemoryPlugin fake;
  fake.table.trim = nullptr;
  const Registered acme(fake);
  { const Held held(acme.record(), large); }
  empty_cache(acme.device());
  EXPECT_EQ(fake.num_asked, 1);
}

}  // namespace
}  // namespace bp::test
