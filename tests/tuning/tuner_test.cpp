// What the tuner decides, keeps and forgets.
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <backplane/runtime/settings.hpp>
#include <backplane/tensor/error.hpp>
#include <backplane/tuning/tuner.hpp>

namespace bp {
namespace {

namespace fs = std::filesystem;

class Tuner : public testing::Test {
 protected:
  Tuner() {
    setenv("BACKPLANE_CACHE_DIR", folder_.c_str(), 1);
    unsetenv("BACKPLANE_TUNE");
    tuner::forget();
  }
  ~Tuner() override {
    tuner::forget();
    unsetenv("BACKPLANE_CACHE_DIR");
    unsetenv("BACKPLANE_TUNE");
    fs::remove_all(folder_);
  }

  // Of ways that take these times; counts the measurements.
  std::size_t choose(std::vector<double> seconds, const char* identity = "a device") {
    const tuner::Question question{
        .what = "product 1", .identity = identity, .num_ways = seconds.size()};
    return tuner::choose(question, [&](std::size_t way) {
      ++measured_;
      if (seconds[way] < 0) throw Error(ErrorClass::unsupported, "this way does not work");
      return seconds[way];
    });
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    if (fs::exists(folder_))
      for (const auto& entry : fs::recursive_directory_iterator(folder_))
        if (entry.is_regular_file()) all.push_back(entry.path());
    return all;
  }

  fs::path folder_ =
      fs::temp_directory_path() / ("backplane-tuner-test-" + std::to_string(getpid()));
  int measured_ = 0;
};

TEST_F(Tuner, takes_the_fastest_way) {
  EXPECT_EQ(choose({3, 1, 2}), 1u);
}

TEST_F(Tuner, keeps_the_first_way_when_another_gains_next_to_nothing) {
  EXPECT_EQ(choose({1, 0.99}), 0u);
}

TEST_F(Tuner, measures_once_in_a_process) {
  choose({3, 1});
  const int before = measured_;
  EXPECT_EQ(choose({1, 3}), 1u);
  EXPECT_EQ(measured_, before);
}

TEST_F(Tuner, measures_once_on_a_machine) {
  choose({3, 1});
  tuner::forget();  // as a new process would
  const int before = measured_;
  EXPECT_EQ(choose({1, 3}), 1u);
  EXPECT_EQ(measured_, before);
}

TEST_F(Tuner, decides_for_each_device_by_itself) {
  EXPECT_EQ(choose({3, 1}), 1u);
  EXPECT_EQ(choose({1, 3}, "another device"), 0u);
}

TEST_F(Tuner, measures_anew_when_what_it_kept_is_broken) {
  choose({3, 1});
  ASSERT_FALSE(files().empty());
  for (const fs::path& file : files()) std::ofstream(file) << "1\n9999999\n";
  tuner::forget();
  const int before = measured_;
  EXPECT_EQ(choose({1, 3}), 0u);
  EXPECT_GT(measured_, before);
  tuner::forget();
  EXPECT_EQ(choose({3, 1}), 0u) << "the file was not written again";
}

// A file of an older list of ways, which was longer.
TEST_F(Tuner, measures_anew_when_the_way_it_kept_is_no_more) {
  EXPECT_EQ(choose({3, 3, 1}), 2u);
  tuner::forget();
  EXPECT_EQ(choose({3, 1}), 1u);
}

TEST_F(Tuner, passes_over_a_way_that_does_not_work) {
  EXPECT_EQ(choose({3, -1, 2}), 2u);
}

TEST_F(Tuner, leaves_the_decision_open_when_the_first_way_cannot_be_measured_now) {
  EXPECT_EQ(choose({-1, 1}), 0u);
  EXPECT_TRUE(files().empty());
  EXPECT_EQ(choose({3, 1}), 1u);
}

TEST_F(Tuner, measures_nothing_when_it_is_off) {
  setenv("BACKPLANE_TUNE", "0", 1);
  EXPECT_EQ(choose({3, 1}), 0u);
  EXPECT_EQ(measured_, 0);
  EXPECT_TRUE(files().empty());
}

TEST_F(Tuner, measures_nothing_and_takes_the_first_way_where_the_same_bits_are_wanted) {
  EXPECT_EQ(choose({3, 1}), 1u);
  set_deterministic(true);
  EXPECT_EQ(choose({3, 1}), 0u);
  EXPECT_EQ(choose({3, 1}, "another device"), 0u);
  set_deterministic(false);
  EXPECT_EQ(choose({3, 1}), 1u);
}

TEST_F(Tuner, takes_what_is_kept_and_measures_nothing_in_mode_kept) {
  EXPECT_EQ(choose({3, 1}), 1u);
  tuner::forget();
  setenv("BACKPLANE_TUNE", "kept", 1);
  const int before = measured_;
  EXPECT_EQ(choose({1, 3}), 1u);
  EXPECT_EQ(choose({3, 1}, "another device"), 0u);
  EXPECT_EQ(measured_, before);
}

TEST_F(Tuner, measures_on_request_what_is_measured_on_request) {
  const tuner::Question question{
      .what = "bits 1", .identity = "a device", .num_ways = 2, .on_request = true};
  const auto measure = [&](std::size_t way) {
    ++measured_;
    return way == 1 ? 1.0 : 2.0;
  };
  EXPECT_EQ(tuner::choose(question, measure), 0u);
  EXPECT_EQ(measured_, 0);
  tuner::forget();
  setenv("BACKPLANE_TUNE", "all", 1);
  EXPECT_EQ(tuner::choose(question, measure), 1u);
  tuner::forget();
  unsetenv("BACKPLANE_TUNE");
  const int before = measured_;
  EXPECT_EQ(tuner::choose(question, measure), 1u) << "what was asked for once is kept";
  EXPECT_EQ(measured_, before);
}

// On request, times that do not agree decide nothing: something else had the cores.
TEST_F(Tuner, decides_nothing_on_a_busy_machine) {
  setenv("BACKPLANE_TUNE", "all", 1);
  const tuner::Question question{.what = "busy 1", .identity = "a device", .num_ways = 2};
  double seconds = 1;
  const auto noisy = [&](std::size_t) { return seconds *= 0.9; };
  EXPECT_EQ(tuner::choose(question, noisy), 0u);
  EXPECT_TRUE(files().empty());
  int samples = 0;
  const auto quiet_at_last = [&](std::size_t way) {
    const double noise = ++samples < 8 ? 10.0 / samples : 0;
    return (way == 1 ? 1.0 : 2.0) + noise;
  };
  EXPECT_EQ(tuner::choose(question, quiet_at_last), 1u);
  EXPECT_FALSE(files().empty());
}

TEST_F(Tuner, keeps_what_somebody_else_found_out) {
  const tuner::Question question{.what = "race 1", .identity = "a card", .num_ways = 5};
  EXPECT_EQ(tuner::keep(question, [] { return std::size_t{3}; }), 3u);
  tuner::forget();
  EXPECT_EQ(tuner::keep(question, []() -> std::size_t { throw Error(ErrorClass::internal, ""); }),
            3u);
  // A way that does not exist is not taken for a decision.
  const tuner::Question other{.what = "race 2", .identity = "a card", .num_ways = 5};
  EXPECT_EQ(tuner::keep(other, [] { return std::size_t{5}; }), 0u);
  EXPECT_EQ(tuner::keep(other, [] { return std::size_t{4}; }), 4u);
}

TEST_F(Tuner, tells_what_it_has_decided_and_forgets_it) {
  choose({3, 1, 2});
  choose({1, 2, 3}, "two\nlines");
  const std::vector<tuner::Decision> all = tuner::kept_decisions();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].identity, "a device");
  EXPECT_EQ(all[0].what, "product 1");
  EXPECT_EQ(all[0].way, 1u);
  EXPECT_EQ(all[0].num_ways, 3u);
  EXPECT_EQ(all[0].seconds, (std::vector<double>{3, 1, 2}));
  EXPECT_EQ(all[1].identity, "two lines");
  EXPECT_EQ(tuner::forget_kept(), 2u);
  EXPECT_TRUE(tuner::kept_decisions().empty());
  EXPECT_EQ(choose({1, 3}), 0u);
}

// What is 1.3 times as slow at the first look is not looked at again.
TEST_F(Tuner, loses_little_time_on_hopeless_ways) {
  std::vector<int> looks(3);
  const tuner::Question question{.what = "looks 1", .identity = "a device", .num_ways = 3};
  tuner::choose(question, [&](std::size_t way) {
    ++looks[way];
    return std::vector<double>{1.0, 5.0, 0.9}[way];
  });
  EXPECT_EQ(looks[1], 2);
  EXPECT_GT(looks[0], 2);
  EXPECT_GT(looks[2], 2);
}

TEST_F(Tuner, stops_measuring_when_its_time_is_spent) {
  const auto slow = [&](std::size_t) {
    ++measured_;
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    return 1.0;
  };
  EXPECT_EQ(tuner::choose({.what = "slow 1", .identity = "a device", .num_ways = 10}, slow), 0u);
  EXPECT_LE(measured_, 4);
}

TEST_F(Tuner, gives_all_threads_the_same) {
  const tuner::Question question{.what = "shared 1", .identity = "a device", .num_ways = 2};
  std::atomic<int> inside{0};
  const auto measure = [&](std::size_t way) {
    EXPECT_EQ(inside.fetch_add(1), 0) << "two threads measure at once";
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    inside.fetch_sub(1);
    return way == 1 ? 1.0 : 2.0;
  };
  std::vector<std::size_t> ways(8);
  std::vector<std::thread> threads;
  for (std::size_t& way : ways)
    threads.emplace_back([&] { way = tuner::choose(question, measure); });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(ways, std::vector<std::size_t>(8, 1));
}

// Also where patience makes that take longer than the question's own budget.
TEST_F(Tuner, gives_all_threads_the_same_when_it_takes_long) {
  setenv("BACKPLANE_TUNE", "all", 1);
  const tuner::Question question{
      .what = "long 1", .identity = "a device", .num_ways = 2, .budget_seconds = 0.01};
  const auto measure = [](std::size_t way) {
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    return way == 1 ? 1.0 : 2.0;
  };
  std::size_t ways[2] = {9, 9};
  std::thread other([&] { ways[1] = tuner::choose(question, measure); });
  ways[0] = tuner::choose(question, measure);
  other.join();
  EXPECT_EQ(ways[0], 1u);
  EXPECT_EQ(ways[1], 1u);
}

// Whoever measures may ask the same again, on the same thread.
TEST_F(Tuner, does_not_wait_for_itself) {
  const tuner::Question question{.what = "nested 1", .identity = "a device", .num_ways = 2};
  std::size_t inner = 9;
  const auto measure = [&](std::size_t way) {
    inner = tuner::choose(question, [](std::size_t) { return 1.0; });
    return way == 1 ? 1.0 : 2.0;
  };
  EXPECT_EQ(tuner::choose(question, measure), 1u);
  EXPECT_EQ(inner, 0u);
}

// The child has none of the threads that measure.
TEST_F(Tuner, does_not_wait_for_threads_that_a_fork_left_behind) {
  const tuner::Question question{.what = "forked 1", .identity = "a device", .num_ways = 2};
  std::atomic<bool> begun{false}, may_end{false};
  std::thread other([&] {
    tuner::choose(question, [&](std::size_t way) {
      begun = true;
      while (!may_end) std::this_thread::yield();
      return way == 1 ? 1.0 : 2.0;
    });
  });
  while (!begun) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(static_cast<int>(
        tuner::choose(question, [](std::size_t way) { return way == 1 ? 1.0 : 2.0; })));
  }
  int status = 0;
  waitpid(child, &status, 0);
  may_end = true;
  other.join();
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

}  // namespace
}  // namespace bp
