// The pool of host memory.
#include <random>
#include <thread>

#include <backplane/runtime/allocator.hpp>

#include "fake_plugin.hpp"

namespace bp::test {
namespace {

TEST(HostMemory, is_aligned_as_asked) {
  for (const std::uint64_t alignment : {0, 1, 8, 64, 128, 4096, 8192, 2 << 20})
    for (const std::uint64_t bytes : {0, 1, 1000, 1 << 20}) {
      void* ptr = allocate_host(bytes, alignment);
      ASSERT_NE(ptr, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(ptr) % std::max<std::uint64_t>(alignment, 64), 0u);
      std::memset(ptr, 1, bytes);
      release_host(ptr);
    }
  release_host(nullptr);
}

TEST(HostMemory, is_used_again) {
  void* first = allocate_host(100000, 64);
  release_host(first);
  EXPECT_EQ(allocate_host(100000, 64), first);
  release_host(first);
}

TEST(HostMemory, impossible_requests_get_nothing) {
  EXPECT_EQ(allocate_host(~0ull, 64), nullptr);
  EXPECT_EQ(allocate_host(64, 48), nullptr);
  EXPECT_EQ(allocate_host(std::uint64_t{1} << 61, 64), nullptr);
  void* next = allocate_host(64, 64);
  EXPECT_NE(next, nullptr);
  release_host(next);
}

TEST(HostMemory, is_counted_and_limited) {
  const MemoryStatistics before = host_memory_statistics();
  set_host_memory_limit(before.allocated_bytes + (8 << 20));
  void* first = allocate_host(6 << 20, 64);
  ASSERT_NE(first, nullptr);
  EXPECT_GE(host_memory_statistics().allocated_bytes, before.allocated_bytes + (6 << 20));
  EXPECT_EQ(allocate_host(6 << 20, 64), nullptr);
  EXPECT_EQ(host_memory_statistics().num_out_of_memory, before.num_out_of_memory + 1);
  release_host(first);
  // What is cached in another size makes room.
  void* second = allocate_host(7 << 20, 64);
  EXPECT_NE(second, nullptr);
  release_host(second);
  set_host_memory_limit(0);
  EXPECT_EQ(host_memory_statistics().allocated_bytes, before.allocated_bytes);
}

TEST(HostMemory, serves_threads_at_once) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([i] {
      std::mt19937 random(i);
      std::vector<std::pair<char*, std::size_t>> held;
      for (int step = 0; step < 500; ++step) {
        const std::size_t bytes = 1 + random() % 20000;
        auto* ptr = static_cast<char*>(allocate_host(bytes, random() % 2 ? 64 : 4096));
        std::memset(ptr, i, bytes);
        held.emplace_back(ptr, bytes);
        if (held.size() < 10) continue;
        for (const auto& [each, size] : held) {
          EXPECT_EQ(each[0], i);
          EXPECT_EQ(each[size - 1], i);
          release_host(each);
        }
        held.clear();
      }
      for (const auto& [each, size] : held) release_host(each);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace bp::test
