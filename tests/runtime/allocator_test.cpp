// The caching allocator on a synchronous device: reuse, statistics, limits, snapshots, exhaustion.
#include <algorithm>
#include <random>

#include <backplane/runtime/allocator.hpp>

#include "fake_plugin.hpp"

namespace bp::test {
namespace {

struct Allocator : testing::Test {
  FakePlugin fake;
  std::optional<Registered> registered;

  DeviceRecord& open() {
    if (!registered) registered.emplace(fake);
    return registered->record();
  }
  Device device() { return open().device; }
  MemoryStatistics statistics() { return memory_statistics(device()); }
};

TEST_F(Allocator, a_freed_block_is_the_next_of_its_size) {
  for (const std::uint64_t bytes :
       {std::uint64_t{1}, std::uint64_t{4096}, std::uint64_t{5000}, 3 * mib, 64 * mib}) {
    Held first(open(), bytes);
    const bp_handle address = first.storage->handle + first.storage->offset;
    EXPECT_GE(first.storage->bytes, bytes);
    EXPECT_EQ(first.storage->refs, 1u);
    EXPECT_EQ(first.storage->version, 0u);
    first.drop();
    const int asked = fake.num_allocations;
    const Held second(open(), bytes);
    EXPECT_EQ(second.storage->handle + second.storage->offset, address) << bytes;
    EXPECT_EQ(fake.num_allocations, asked);
  }
}

TEST_F(Allocator, host_memory_is_aligned_to_lines_and_large_blocks_to_huge_pages) {
  std::vector<Held> held;
  for (const std::uint64_t bytes : {1, 64, 65, 300, 4096, 4097, 100000})
    held.emplace_back(open(), bytes);
  for (const Held& each : held) EXPECT_EQ((each.storage->handle + each.storage->offset) % 64, 0u);
  const Held large(open(), 64 * mib);
  EXPECT_EQ((large.storage->handle + large.storage->offset) % (2 * mib), 0u);
}

TEST_F(Allocator, the_offset_alignment_of_the_device_is_kept) {
  fake.offset_alignment = 1024;
  std::vector<Held> held;
  for (const std::uint64_t bytes : {1, 64, 100, 4096, 5000, 70000}) {
    held.emplace_back(open(), bytes);
    EXPECT_EQ(held.back().storage->offset % 1024, 0u) << bytes;
  }
}

TEST_F(Allocator, storages_of_zero_bytes_take_no_memory) {
  const Held a(open(), 0), b(open(), 0);
  EXPECT_NE(a.storage, b.storage);
  EXPECT_EQ(a.storage->bytes, 0u);
  EXPECT_EQ(fake.num_allocations, 0);
  EXPECT_EQ(statistics().num_allocations, 2u);
}

TEST_F(Allocator, many_tensors_share_few_backend_allocations) {
  std::vector<Held> held;
  for (int i = 0; i < 1000; ++i) held.emplace_back(open(), 64);
  EXPECT_EQ(fake.num_allocations, 1);
  for (int i = 0; i < 10; ++i) held.emplace_back(open(), 100 << 10);
  EXPECT_EQ(fake.num_allocations, 1);
}

TEST_F(Allocator, statistics_are_exact) {
  const std::uint64_t small_before = statistics().allocated_bytes;
  EXPECT_EQ(small_before, 0u);
  {
    const Held a(open(), 100), b(open(), 4096), c(open(), 10000), d(open(), 3 * mib);
    const MemoryStatistics now = statistics();
    EXPECT_EQ(now.allocated_bytes, 128 + 4096 + 10240 + 3 * mib);
    EXPECT_EQ(now.num_allocations, 4u);
    EXPECT_EQ(now.num_releases, 0u);
    EXPECT_EQ(now.reserved_bytes, fake.held_bytes);
    EXPECT_EQ(now.num_backend_allocations, static_cast<std::uint64_t>(fake.num_allocations));
    EXPECT_EQ(num_live_storages(device()), 4);
  }
  MemoryStatistics now = statistics();
  EXPECT_EQ(now.allocated_bytes, 0u);
  EXPECT_EQ(now.peak_allocated_bytes, 128 + 4096 + 10240 + 3 * mib);
  EXPECT_EQ(now.num_allocations, 4u);
  EXPECT_EQ(now.num_releases, 4u);
  EXPECT_EQ(num_live_storages(device()), 0);
  empty_cache(device());
  now = statistics();
  EXPECT_EQ(now.reserved_bytes, 0u);
  EXPECT_EQ(fake.held_bytes, 0u);
  EXPECT_EQ(now.num_backend_releases, now.num_backend_allocations);
  reset_peak_memory_statistics(device());
  EXPECT_EQ(statistics().peak_allocated_bytes, 0u);
  EXPECT_EQ(statistics().peak_reserved_bytes, 0u);
}

TEST_F(Allocator, the_limit_counts_reserved_memory) {
  open();
  set_memory_limit(device(), 32 * mib);
  Held a(open(), 20 * mib);
  EXPECT_EQ(text_of([&] { const Held b(open(), 13 * mib); }),
            "acme:0: out of memory: asked 13.00 MiB; held by tensors 20.00 MiB in 1 block (largest "
            "20.00 MiB), cached 0 B; limit 32.00 MiB; free tensors or raise the limit");
  EXPECT_EQ(statistics().num_out_of_memory, 1u);
  EXPECT_LE(statistics().reserved_bytes, 32 * mib);
  a.drop();
  const Held b(open(), 13 * mib);  // what is cached makes room
  set_memory_limit(device(), 0);
  const Held c(open(), 64 * mib);
}

TEST_F(Allocator, a_smaller_segment_is_tried_before_giving_up) {
  fake.capacity = 6 * mib;
  const Held a(open(), 5 * mib);
  const Held b(open(), 64);
  EXPECT_LE(fake.held_bytes, 6 * mib);
}

TEST_F(Allocator, exhaustion_frees_the_cache_and_asks_again) {
  fake.capacity = 64 * mib;
  { const Held a(open(), 20 * mib), b(open(), 20 * mib), c(open(), 20 * mib); }
  const Held whole(open(), 60 * mib);
  EXPECT_EQ(statistics().num_out_of_memory, 0u);
  EXPECT_GE(statistics().num_retries, 1u);
}

TEST_F(Allocator, an_out_of_memory_error_says_what_is_held_and_what_the_plugin_said) {
  fake.capacity = 64 * mib;
  fake.total_memory = 64 * mib;
  std::vector<Held> held;
  held.emplace_back(open(), 30 * mib);
  held.emplace_back(open(), 10 * mib);
  const Error error = error_of([&] { const Held b(open(), 2048 * mib); });
  EXPECT_EQ(error.error_class(), ErrorClass::out_of_memory);
  EXPECT_STREQ(error.what(),
               "acme:0: out of memory: asked 2.00 GiB; held by tensors 40.00 MiB in 2 blocks "
               "(largest 30.00 MiB), cached 0 B; total 64.00 MiB; free tensors (plugin acme: the "
               "card is full)");
  const Held next(open(), 10 * mib);
}

TEST_F(Allocator, no_allocation_is_larger_than_the_device_allows) {
  fake.max_allocation = 5 * mib + 100;
  const Held a(open(), 5 * mib + 100), b(open(), 100);
  EXPECT_LE(fake.held_bytes, 3 * (5 * mib + 100));
  EXPECT_EQ(
      text_of([&] { const Held c(open(), 5 * mib + 101); }),
      "acme:0: out of memory: asked 5242981 bytes, but one allocation has at most 5242980; use "
      "smaller tensors");
  EXPECT_EQ(error_of([&] { const Held c(open(), ~0ull); }).error_class(),
            ErrorClass::out_of_memory);
}

TEST_F(Allocator, without_sub_allocation_each_block_has_its_own_handle) {
  fake.flags &= ~BP_DEVICE_CAN_SUBALLOCATE;
  std::vector<Held> held;
  for (const std::uint64_t bytes : {1, 1, 64, 4096, 4097, 5 << 20}) {
    held.emplace_back(open(), bytes);
    EXPECT_EQ(held.back().storage->offset, 0u);
  }
  EXPECT_EQ(fake.num_held, 6);
  held.clear();
  const int asked = fake.num_allocations;
  const Held again(open(), 5 << 20), small(open(), 60);
  EXPECT_EQ(fake.num_allocations, asked);
  // A small request does not take a large allocation.
  const Held middle(open(), 1 << 20);
  EXPECT_EQ(fake.num_allocations, asked + 1);
}

TEST_F(Allocator, other_errors_of_the_plugin_come_through) {
  open();
  fake.fail_allocation = 0;
  fake.allocation_code = BP_DEVICE_LOST;
  EXPECT_EQ(text_of([&] { const Held a(open(), 5000); }),
            "allocate: none left (plugin acme, device acme:0)");
}

TEST_F(Allocator, handles_are_checked) {
  open();
  fake.null_handles = true;
  EXPECT_EQ(text_of([&] { const Held a(open(), 5000); }),
            "allocate: it succeeded without a handle (plugin acme, device acme:0)");
  fake.null_handles = false;
  fake.odd_handles = true;
  const Error error = error_of([&] { const Held a(open(), 5000); });
  EXPECT_EQ(error.error_class(), ErrorClass::internal);
  EXPECT_NE(std::string(error.what()).find("is not aligned to"), std::string::npos);
  EXPECT_EQ(fake.num_held, 0);
  fake.odd_handles = false;
  const Held a(open(), 5000);
  EXPECT_EQ(statistics().reserved_bytes, fake.held_bytes);
}

TEST_F(Allocator, a_plugin_that_asks_for_memory_while_allocating_gets_an_error) {
  open();
  std::string text;
  fake.in_allocate = [&] {
    fake.in_allocate = nullptr;
    text = text_of([&] { const Held inner(open(), 5000); });
  };
  const Held outer(open(), 5000);
  EXPECT_EQ(text, "allocate: the plugin asked for memory of acme:0 while allocating it");
}

TEST_F(Allocator, an_application_may_bring_its_own_memory) {
  struct Source {
    int given = 0, taken_back = 0;
  } source;
  CustomAllocator custom;
  custom.context = &source;
  custom.allocate = [](void* context, std::uint64_t bytes, std::uint64_t alignment,
                       bp_handle* out) {
    void* ptr = nullptr;
    if (posix_memalign(&ptr, alignment, bytes) != 0) return bp_code{BP_OUT_OF_MEMORY};
    ++static_cast<Source*>(context)->given;
    *out = reinterpret_cast<bp_handle>(ptr);
    return bp_code{BP_OK};
  };
  EXPECT_EQ(text_of([&] { set_custom_allocator(device(), custom); }),
            "set_custom_allocator: release is missing; give both functions");
  custom.release = [](void* context, bp_handle handle) {
    ++static_cast<Source*>(context)->taken_back;
    std::free(reinterpret_cast<void*>(handle));
  };
  Held before(open(), 5000);
  set_custom_allocator(device(), custom);
  {
    const Held after(open(), 64 * mib);
    EXPECT_EQ(source.given, 1);
  }
  before.drop();
  empty_cache(device());
  EXPECT_EQ(source.taken_back, 1);
  EXPECT_EQ(fake.num_held, 0);
}

TEST_F(Allocator, a_snapshot_shows_every_block_once) {
  std::vector<Held> held;
  held.emplace_back(open(), 100);
  held.emplace_back(open(), 5000);
  held.emplace_back(open(), 3 * mib);
  std::vector<MemoryBlockInfo> blocks = memory_snapshot(device());
  std::sort(blocks.begin(), blocks.end(), [](const auto& a, const auto& b) {
    return std::pair(a.handle, a.offset) < std::pair(b.handle, b.offset);
  });
  std::uint64_t used = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].in_use) used += blocks[i].bytes;
    if (i > 0 && blocks[i].handle == blocks[i - 1].handle) {
      EXPECT_GE(blocks[i].offset, blocks[i - 1].offset + blocks[i - 1].bytes);
    }
  }
  EXPECT_EQ(used, statistics().allocated_bytes);
  held.clear();
  for (const MemoryBlockInfo& block : memory_snapshot(device())) EXPECT_FALSE(block.in_use);
}

TEST_F(Allocator, meta_has_no_memory) {
  EXPECT_EQ(text_of([] { memory_statistics(meta_device); }),
            "memory_statistics: meta has no memory");
}

// A scripted sequence in which every allocation of the plugin fails once: each failure is an
// out-of-memory error, nothing is lost, and the same call works afterwards.
TEST_F(Allocator, survives_a_failure_at_every_allocation) {
  const std::uint64_t script[] = {100, 5000, 3 * mib, 4096, 0, 20 * mib, 100 << 10, 64, 9 * mib};
  for (std::int64_t fail_at = 0; fail_at < 8; ++fail_at) {
    open();
    // All attempts of one request must fail: the exact size and the second asking, too.
    for (const std::uint64_t bytes : script) {
      const MemoryStatistics before = statistics();
      fake.in_allocate = [&, left = fail_at]() mutable { fake.capacity = left-- > 0 ? ~0ull : 0; };
      std::vector<Held> held;
      try {
        for (const std::uint64_t each : script) held.emplace_back(open(), each);
      } catch (const Error& error) {
        EXPECT_EQ(error.error_class(), ErrorClass::out_of_memory);
      }
      fake.in_allocate = nullptr;
      fake.capacity = ~0ull;
      EXPECT_NO_THROW(held.emplace_back(open(), bytes));
      held.clear();
      EXPECT_EQ(statistics().allocated_bytes, before.allocated_bytes);
      EXPECT_EQ(statistics().reserved_bytes, fake.held_bytes);
      empty_cache(device());
      EXPECT_EQ(fake.num_held, 0);
    }
  }
}

// Random allocations, releases and cache emptyings against a plain model.
TEST_F(Allocator, live_blocks_never_overlap_and_merge_back_to_whole_segments) {
  std::mt19937 random(7);
  std::vector<std::pair<Held, unsigned char>> held;
  const auto check_and_drop = [&](std::size_t i) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(held[i].first.storage->handle +
                                                               held[i].first.storage->offset);
    const std::uint64_t size = held[i].first.storage->bytes;
    EXPECT_TRUE(std::all_of(bytes, bytes + size, [&](auto b) { return b == held[i].second; }));
    std::swap(held[i], held.back());
    held.pop_back();
  };
  std::uint64_t live_bytes = 0;
  for (int step = 0; step < 4000; ++step) {
    if (held.size() < 60 && random() % 2) {
      const unsigned magnitude = random() % 22;
      Held made(open(), random() % (2u << magnitude));
      const auto mark = static_cast<unsigned char>(random());
      if (made.storage->bytes != 0)
        std::memset(reinterpret_cast<void*>(made.storage->handle + made.storage->offset), mark,
                    made.storage->bytes);
      live_bytes += made.storage->bytes;
      held.emplace_back(std::move(made), mark);
    } else if (!held.empty()) {
      const std::size_t i = random() % held.size();
      live_bytes -= held[i].first.storage->bytes;
      check_and_drop(i);
    }
    if (step % 500 == 0) empty_cache(device());
    ASSERT_EQ(statistics().allocated_bytes, live_bytes);
  }
  while (!held.empty()) check_and_drop(0);
  empty_cache(device());
  EXPECT_EQ(fake.num_held, 0);
  EXPECT_TRUE(memory_snapshot(device()).empty());
}

}  // namespace
}  // namespace bp::test
