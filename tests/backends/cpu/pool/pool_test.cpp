// The pool of threads by itself: each range is done once, by whomever, and nobody is lost.
#include "pool.hpp"

#include <gtest/gtest.h>
#include <mutex>
#include <random>
#include <sched.h>
#include <set>
#include <stdexcept>

namespace {

using Team = bp::cpu::Pool;

template <class F> void run_on(Team& pool, int64_t count, int64_t grain, int threads, F& body) {
  pool.run({count, grain, count,
            [](void* state, int64_t begin, int64_t end) { (*static_cast<F*>(state))(begin, end); },
            &body},
           threads);
}

// How often each index was done, and in how many ranges.
struct Marks {
  explicit Marks(int64_t count) : times(static_cast<size_t>(count)) {}
  void operator()(int64_t begin, int64_t end) {
    ++ranges;
    for (int64_t i = begin; i < end; ++i) ++times[static_cast<size_t>(i)];
  }
  bool all_once() const {
    return std::all_of(times.begin(), times.end(), [](const auto& each) { return each == 1; });
  }
  std::vector<std::atomic<int>> times;
  std::atomic<int64_t> ranges{0};
};

TEST(CpuPool, does_each_range_once_whoever_calls) {
  Team pool(4);
  const auto call_often = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 3000; ++i) {
      const int64_t count = 1 + random() % 2000, grain = 1 + random() % 100;
      Marks marks(count);
      run_on(pool, count, grain, 1 + static_cast<int>(random() % 6), marks);
      ASSERT_TRUE(marks.all_once()) << count << " by " << grain;
      ASSERT_LE(marks.ranges, (count + grain - 1) / grain);
      if (random() % 64 == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
    }
  };
  std::vector<std::thread> callers;
  for (unsigned seed = 0; seed < 12; ++seed) callers.emplace_back(call_often, seed);
  for (std::thread& each : callers) each.join();
}

TEST(CpuPool, throws_what_a_range_threw_once_all_have_ended) {
  Team pool(3);
  for (int i = 0; i < 500; ++i) {
    std::atomic<int> inside{0};
    auto body = [&](int64_t begin, int64_t) {
      ++inside;
      const bool bad = begin == i % 8;
      --inside;
      if (bad) throw std::runtime_error("range");
    };
    EXPECT_THROW(run_on(pool, 8, 1, 3, body), std::runtime_error);
    EXPECT_EQ(inside, 0);
    Marks marks(100);
    run_on(pool, 100, 1, 3, marks);
    EXPECT_TRUE(marks.all_once());
  }
}

TEST(CpuPool, helps_though_its_threads_sleep_between) {
  Team pool(2);
  std::set<std::thread::id> who;
  std::mutex guard;
  auto body = [&](int64_t, int64_t) {
    EXPECT_TRUE(Team::is_working());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const std::lock_guard lock(guard);
    who.insert(std::this_thread::get_id());
  };
  for (int i = 0; i < 20; ++i) {
    run_on(pool, 8, 1, 2, body);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    pool.rest();
  }
  EXPECT_EQ(who.size(), 2u);
  EXPECT_FALSE(Team::is_working());
}

// The caller sleeps for what runs long, and what runs long is not taken for a thread without a core.
TEST(CpuPool, waits_for_long_ranges) {
  Team pool(2);
  std::atomic<int> done{0};
  auto body = [&](int64_t begin, int64_t) {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(begin == 0 ? 1 : 30);
    while (std::chrono::steady_clock::now() < end) {
    }
    ++done;
  };
  run_on(pool, 2, 1, 2, body);
  EXPECT_EQ(done, 2);
}

// Beside a program that never rests, the system would wake the helper on the caller's core: half of another one is worth more.
TEST(CpuPool, helps_on_another_core_than_its_callers) {
  cpu_set_t before, pair, one, two;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "one core";
  std::vector<int> cores;
  for (int i = 0; cores.size() < 2; ++i)
    if (CPU_ISSET(i, &before)) cores.push_back(i);
  for (cpu_set_t* each : {&pair, &one, &two}) CPU_ZERO(each);
  CPU_SET(cores[0], &one);
  CPU_SET(cores[1], &two);
  CPU_OR(&pair, &one, &two);

  Team pool(2);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> with_caller{0}, apart{0};
  auto body = [&](int64_t, int64_t) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
    while (std::chrono::steady_clock::now() < end) {
    }
    if (std::this_thread::get_id() != caller) ++(sched_getcpu() == cores[0] ? with_caller : apart);
  };
  sched_setaffinity(0, sizeof pair, &pair);
  run_on(pool, 8, 1, 2, body);  // its thread may use both
  std::atomic<bool> ended{false};
  std::thread other([&] {
    sched_setaffinity(0, sizeof two, &two);
    while (!ended) {
    }
  });
  sched_setaffinity(0, sizeof one, &one);
  for (int i = 0; i < 1000; ++i) run_on(pool, 8, 1, 2, body);
  ended = true;
  other.join();
  sched_setaffinity(0, sizeof before, &before);
  EXPECT_GT(apart, 0);
  EXPECT_LT(with_caller, apart);
}

}  // namespace
