// Thread states and their caches: several threads at once, ends of threads, static destructors.
#include <atomic>
#include <random>
#include <thread>

#include <backplane/runtime/thread_state.hpp>

#include "fake_plugin.hpp"

namespace bp::test {
namespace {

constexpr int num_threads = 8;

template <class Body> void on_threads(Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < num_threads; ++i) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

TEST(Threads, each_has_a_state_of_its_own) {
  ThreadState& mine = thread_state();
  EXPECT_EQ(&mine, &thread_state());
  std::thread([&] { EXPECT_NE(&thread_state(), &mine); }).join();
}

// Atomic: a thread that has been joined runs its last hooks where the thread sanitizer sees no order any more.
std::atomic<int> num_ended = 0;

TEST(Threads, hooks_run_at_their_end) {
  static const bool once =
      (register_thread_exit([](ThreadState& state) { num_ended += state.num_counters == 17; }),
       true);
  EXPECT_TRUE(once);
  const int before = num_ended.load();
  std::thread([] { thread_state().num_counters = 17; }).join();
  EXPECT_EQ(num_ended.load(), before + 1);
}

TEST(Threads, a_tensor_may_outlive_its_thread_and_be_dropped_on_another) {
  FakePlugin fake;
  const Registered acme(fake);
  std::vector<Held> held;
  std::thread([&] {
    for (int i = 0; i < 1000; ++i) held.emplace_back(acme.record(), 64);
  }).join();
  EXPECT_EQ(num_live_storages(acme.device()), 1000);
  std::thread([&] { held.clear(); }).join();
  const MemoryStatistics now = memory_statistics(acme.device());
  EXPECT_EQ(now.num_allocations, 1000u);
  EXPECT_EQ(now.num_releases, 1000u);
  EXPECT_EQ(now.allocated_bytes, 0u);
  empty_cache(acme.device());
  EXPECT_EQ(fake.num_held, 0) << "the caches of ended threads are given back";
}

TEST(Threads, a_tensor_in_thread_local_storage_is_dropped_at_the_threads_end) {
  FakePlugin fake;
  const Registered acme(fake);
  std::thread([&] {
    static thread_local std::optional<Tensor> last;
    last = empty_tensor({3}, f32, acme.device());
  }).join();
  EXPECT_EQ(num_live_storages(acme.device()), 0);
}

TEST(Threads, blocks_pass_between_threads_without_growing) {
  FakePlugin fake;
  const Registered acme(fake);
  acme.record();
  for (int round = 0; round < 50; ++round) {
    std::vector<Held> held;
    std::thread([&] {
      for (int i = 0; i < 500; ++i) held.emplace_back(acme.record(), 256);
    }).join();
    held.clear();
  }
  EXPECT_EQ(fake.num_allocations, 1);
}

TEST(Threads, eight_at_once_keep_every_block_apart_and_the_books_right) {
  FakePlugin fake;
  const Registered acme(fake);
  on_threads([&](int index) {
    std::mt19937 random(index);
    std::vector<Held> held;
    for (int step = 0; step < 3000; ++step) {
      Held made(acme.record(), 1 + random() % (random() % 16 ? 500 : 200000));
      *reinterpret_cast<int*>(made.storage->handle + made.storage->offset) = index;
      held.push_back(std::move(made));
      if (random() % 3 == 0) {
        Held& victim = held[random() % held.size()];
        EXPECT_EQ(*reinterpret_cast<int*>(victim.storage->handle + victim.storage->offset), index);
        std::swap(victim, held.back());
        held.pop_back();
      }
      if (held.size() > 200) held.clear();
      if (step % 1000 == 0) empty_cache(acme.device());
      if (step % 500 == 0) memory_snapshot(acme.device());
      if (step % 500 == 1) memory_statistics(acme.device());
    }
  });
  const MemoryStatistics now = memory_statistics(acme.device());
  EXPECT_EQ(now.allocated_bytes, 0u);
  EXPECT_EQ(now.num_allocations, now.num_releases);
  EXPECT_EQ(now.reserved_bytes, fake.held_bytes);
  EXPECT_EQ(fake.most_at_once, 1) << "allocate is called by one thread at a time";
  empty_cache(acme.device());
  EXPECT_EQ(fake.num_held, 0);
}

TEST(Threads, eight_at_once_on_streams_of_their_own) {
  FakePlugin fake;
  fake.make_asynchronous();
  const Registered acme(fake);
  on_threads([&](int index) {
    std::mt19937 random(index);
    const Stream mine(acme.device());
    const StreamGuard guard(mine);
    const Stream other(acme.device());
    for (int step = 0; step < 500; ++step) {
      const Tensor tensor =
          empty_tensor({1 + static_cast<std::int64_t>(random() % 100000)}, u8, acme.device());
      fake.give_work(mine);
      if (random() % 4 == 0) {
        record_stream(tensor, other);
        fake.give_work(other);
      }
      if (random() % 16 == 0) mine.synchronize();
      if (random() % 16 == 0) other.query();
      release_after(
          *mine.impl(), [](void*) {}, nullptr);
    }
  });
  synchronize(acme.device());
  EXPECT_EQ(num_live_storages(acme.device()), 0);
}

TEST(Threads, exhaustion_on_many_threads_leaves_everything_whole) {
  FakePlugin fake;
  fake.capacity = 40 << 20;
  const Registered acme(fake);
  std::atomic<int> served{0};
  on_threads([&](int) {
    for (int step = 0; step < 50; ++step) {
      try {
        const Held made(acme.record(), 9 << 20);
        ++served;
      } catch (const Error& error) {
        EXPECT_EQ(error.error_class(), ErrorClass::out_of_memory);
      }
    }
  });
  EXPECT_GT(served, 0);
  const Held all(acme.record(), 38 << 20);
  EXPECT_EQ(memory_statistics(acme.device()).reserved_bytes, fake.held_bytes);
}

TEST(Threads, registering_and_using_devices_at_once) {
  on_threads([&](int) {
    for (int step = 0; step < 20; ++step) {
      FakePlugin fake;
      const Registered mine(fake);
      const Held made(mine.record(), 100);
      EXPECT_NE(find_device(mine.record().name), nullptr);
      registered_devices();
    }
  });
}

// Never unregistered: its tensors are dropped by a static destructor, after everything else.
FakePlugin& last_plugin() {
  static FakePlugin& fake = *new FakePlugin("last");
  return fake;
}
std::vector<Tensor> dropped_at_exit;

TEST(ThreadsLast, tensors_may_be_dropped_by_static_destructors) {
  Backend& backend = register_backend(last_plugin().plugin, last_plugin().host, "last.so");
  for (const std::int64_t size : {0, 10, 10000, 1000000})
    dropped_at_exit.push_back(empty_tensor({size}, f32, backend.devices[0]->device));
}

}  // namespace
}  // namespace bp::test
